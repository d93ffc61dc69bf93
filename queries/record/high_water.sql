-- name: HighWater :one
select begun, done, epoch, log_seq, batch_id, job_id from record.high_water where name = 'installation';

-- name: BeginHighWater :exec
insert into record.high_water (name, begun) values ('installation', @round)
on conflict (name) do update set begun = excluded.begun where high_water.begun < excluded.begun;

-- name: EndHighWater :exec
update record.high_water
set done = @round, epoch = @epoch, log_seq = @log_seq, batch_id = @batch_id, job_id = @job_id, done_at = clock_timestamp()
where name = 'installation' and done < @round;
