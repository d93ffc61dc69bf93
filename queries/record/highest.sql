-- name: HighestIDs :one
-- Ids have ten digits, so that the highest is the last in their order. The key of an
-- effect begins with its job.
select
    coalesce(greatest(
        (select max(i.job_id) from record.identifier i),
        (select max(l.job_id) from record.local_id l),
        (select max(c.job_id) from record.identifier_collection c),
        (select max(r.job_id) from record.version_reservation r),
        (select max(v.job_id) from record.object_version v),
        (select max(d.job_id) from record.delivery d),
        (select max(split_part(e.key, '/', 1)) from record.effect e where e.key like 'jid%')), '')::text as job_id,
    coalesce(greatest(
        (select max(v.batch_id) from record.object_version v),
        (select max(s.batch_id) from record.deposit s),
        (select max(c.batch_id) from record.command c),
        (select max(d.batch_id) from record.delivery d)), '')::text as batch_id;
