-- What the board of a deposit queue shows, and what is parked.

-- name: RecentGrabs :many
-- When the last deposits of a queue were grabbed, newest first.
select grabbed_at::timestamptz as at from accession.deposit
where queue = @queue and turn > 0 and grabbed_at >= @since::timestamptz
order by turn desc
limit @max_rows;

-- name: RestingDeposits :many
-- The running deposits of a queue all of whose open jobs are held or wait for space.
select d.batch_id, d.user_name from accession.deposit d
join accession.batch b on b.id = d.batch_id
where d.queue = @queue and (d.turn > 0 or d.synchronous) and d.ended_at is null and b.status = 'processing'
  and exists (select from accession.job j where j.batch_id = d.batch_id and j.status not in ('completed', 'failed', 'deleted'))
  and not exists (select from accession.job j where j.batch_id = d.batch_id and j.status not in ('completed', 'failed', 'deleted', 'held')
    and (j.reason_class, j.reason_code) is distinct from ('wait', 'space_short'))
order by d.batch_id
limit @max_rows;

-- name: CountParked :many
select submitter, count(*) as parked from accession.batch
where status = 'held' and reason_code = 'parked'
group by submitter
order by submitter;

-- name: CountParkedQueries :many
select submitter, count(*) as parked from accession.query
where status = 'parked'
group by submitter
order by submitter;

-- name: ParkedBatches :many
-- Parked batches of some users, or those of some ids.
select id from accession.batch
where status = 'held' and reason_code = 'parked' and id > @after_id
  and (submitter = any(@users::text[]) or id = any(@ids::text[]))
order by id
limit @max_rows;

-- name: ParkedQueries :many
-- Parked queries of some users, or those of some ids.
select id from accession.query
where status = 'parked' and id > @after_id
  and (submitter = any(@users::text[]) or id = any(@ids::text[]))
order by id
limit @max_rows;
