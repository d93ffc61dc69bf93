-- name: KeepComputeResult :exec
insert into record.compute_result (entry_id, sha256, key, result, exit_status, last_lines, worker, attempt, claim, outputs, kept_sha256)
values (@entry_id, @sha256, @key, @result, @exit_status, @last_lines, @worker, @attempt, @claim, @outputs,
    encode(sha256(convert_to((@result::jsonb)::text || (@outputs::jsonb)::text, 'UTF8')), 'hex'))
on conflict (entry_id, attempt, worker) do update set sha256 = excluded.sha256, result = excluded.result, exit_status = excluded.exit_status,
    last_lines = excluded.last_lines, claim = excluded.claim, outputs = excluded.outputs, kept_sha256 = excluded.kept_sha256, kept_at = excluded.kept_at;

-- name: ComputeResult :one
select * from record.compute_result where entry_id = @entry_id and sha256 = @sha256 order by (claim = @claim) desc, kept_at desc limit 1;
