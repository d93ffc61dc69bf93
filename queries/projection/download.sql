-- name: DownloadCandidates :many
-- Files without a job that may be downloaded now, in the order of their discovery: of a state,
-- and not from servers that are busy. One that has failed must have done so before the
-- time that stands for the number of its attempts, the last of them for all further numbers.
select f.raw_file_hash, f.profile_name, f.host
from accession.file f
where f.status = @status::text and f.job_id = '' and f.host <> all(@busy::text[])
    and (f.failed_at is null or f.failed_at <= (@before::timestamptz[])[case when f.download_attempts < @numbers::bigint then f.download_attempts + 1 else @numbers::bigint end])
order by f.seq
limit @max_rows;
