-- name: SweepCandidates :many
-- Files whose attempt began before the given times; and of those that belong to no
-- job the ones whose downloads are used up or that wait to be processed again. The
-- files of deleted jobs rest.
select f.raw_file_hash, f.status, f.job_id, coalesce(j.profile_name, f.profile_name)::text as profile_name, f.status_since,
       (case when f.status in ('DOWNLOADING', 'DOWNLOADING_FAILED') then f.download_attempts else f.processing_attempts end)::bigint as attempts
from accession.file f
left join accession.job j on j.id = f.job_id
where f.status in ('DOWNLOADING', 'PROCESSING', 'DOWNLOADING_FAILED', 'PROCESSING_FAILED')
    and j.status is distinct from 'deleted'
    and f.raw_file_hash > @after
    and ((f.status = 'DOWNLOADING' and f.status_since < @download_before::timestamptz)
        or (f.status = 'PROCESSING' and f.status_since < @processing_before::timestamptz)
        or (f.status = 'DOWNLOADING_FAILED' and f.job_id = '' and f.download_attempts >= @max_downloads)
        or (f.status = 'PROCESSING_FAILED' and f.job_id = ''))
order by f.raw_file_hash
limit @max_rows;
