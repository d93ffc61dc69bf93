-- name: KeepComputeResult :execrows
-- Of two results under one claim the first stays: the one that ends the entry is the one that
-- is kept.
insert into record.compute_result (entry_id, sha256, key, result, exit_status, last_lines, worker, attempt, claim, outputs, kept_sha256)
values (@entry_id, @sha256, @key, @result, @exit_status, @last_lines, @worker, @attempt, @claim, @outputs,
    encode(sha256(convert_to((@result::jsonb)::text || (@outputs::jsonb)::text, 'UTF8')), 'hex'))
on conflict (entry_id, attempt, worker) do update set sha256 = excluded.sha256, result = excluded.result, exit_status = excluded.exit_status,
    last_lines = excluded.last_lines, claim = excluded.claim, outputs = excluded.outputs, kept_sha256 = excluded.kept_sha256, kept_at = excluded.kept_at
where compute_result.claim < excluded.claim
    or (compute_result.claim, compute_result.sha256, compute_result.exit_status, compute_result.last_lines) = (excluded.claim, excluded.sha256, excluded.exit_status, excluded.last_lines);

-- name: ComputeResult :one
select * from record.compute_result where entry_id = @entry_id and sha256 = @sha256 order by (claim = @claim) desc, kept_at desc limit 1;
