-- Reports, page by page in an order of their own, so that a long one needs little
-- memory: each page begins behind the last row of the one before. A missing bound
-- is one that nothing exceeds.

-- name: ReportRetries :many
select * from report.retry_history
where (@batch_id::text = '' or batch_id = @batch_id) and failed_at >= @since and failed_at < @until
    and (failed_at, job_id, raw_file_hash, number) > (@after_at::timestamptz, @after_job::text, @after_hash::text, @after_number::bigint)
order by failed_at, job_id, raw_file_hash, number
limit @max_rows;

-- name: ReportFileMoves :many
-- The lives of a batch's files, one after the other in the order of their discovery.
select f.path, f.seq as discovered, sqlc.embed(t)
from accession.file f
join accession.file_transition t on t.raw_file_hash = f.raw_file_hash
where f.batch_id = @batch_id and t.at >= @since and t.at < @until
    and f.seq >= @after_seq and (f.seq, t.version) > (@after_seq, @after_version::bigint)
order by f.seq, t.version
limit @max_rows;

-- name: ReportMoves :many
-- What happened to files, in order.
select f.path, f.seq as discovered, sqlc.embed(t)
from accession.file_transition t
join accession.file f on f.raw_file_hash = t.raw_file_hash
where t.at >= @since and t.at < @until and t.seq <= @up_to and (t.at, t.seq) > (@after_at::timestamptz, @after_seq::bigint)
order by t.at, t.seq
limit @max_rows;

-- name: ReportFiles :many
-- A batch's files in the order of their discovery.
select * from accession.file where batch_id = @batch_id and seq > @after_seq order by seq limit @max_rows;

-- name: JobsByID :many
select * from accession.job where id = any(@ids::text[]);

-- name: LastFailures :many
-- The last failed attempt of each of these files.
select distinct on (raw_file_hash) raw_file_hash, code, message from accession.retry
where kind = 'file' and raw_file_hash = any(@hashes::text[])
order by raw_file_hash, number desc;

-- name: ManifestWarnings :many
select * from report.manifest_warning
where batch_id = @batch_id and (job_id, number) > (@after_job::text, @after_number::bigint)
order by job_id, number
limit @max_rows;

-- name: ListedMetadataRecords :one
-- What a batch's listing says of the records of a metadata deposit.
select (data -> 'records')::jsonb as records from accession.event
where aggregate_id = @batch_id and type = 'batch.listed' and data ? 'records'
order by version desc
limit 1;

-- name: CountManifestWarnings :one
select count(*) from report.manifest_warning where batch_id = @batch_id;
