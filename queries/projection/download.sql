-- name: DownloadCandidates :many
-- Files without a job that may be downloaded now, in the order of their discovery: of a state,
-- and not from servers that are busy. One that has failed must have done so before the
-- time that stands for the number of its attempts, the last of them for all further numbers.
select f.raw_file_hash, f.profile_name, f.host, l.size as listed_size
from accession.file f
left join lateral (
    select d.size from report.directory_listing d where d.raw_file_hash = f.raw_file_hash and d.gone_at is null order by d.last_at desc limit 1
) l on true
where f.status = @status::text and f.job_id = '' and f.host <> all(@busy::text[])
    and (f.failed_at is null or f.failed_at <= (@before::timestamptz[])[case when f.download_attempts < @numbers::bigint then f.download_attempts + 1 else @numbers::bigint end])
order by f.seq
limit @max_rows;
