-- name: FilesWaiting :many
-- Files without a job that are DOWNLOADED, in the order of their hashes.
select raw_file_hash, version, path, size, sha256, source_modified, dataset, group_name, seq
from accession.file
where status = 'DOWNLOADED' and job_id = '' and raw_file_hash > @after
order by raw_file_hash
limit @max_rows;

-- name: FileWaiting :one
select raw_file_hash, version, path, size, sha256, source_modified, dataset, group_name, seq
from accession.file
where status = 'DOWNLOADED' and job_id = '' and raw_file_hash = @hash;

-- name: FilesReady :many
-- Files without a job that are READY, in the order of their hashes.
select raw_file_hash, version, path, size, sha256, source_modified, dataset, group_name, seq
from accession.file
where status = 'READY' and job_id = '' and raw_file_hash > @after
order by raw_file_hash
limit @max_rows;

-- name: FilesOfGroup :many
-- The other files of a group, those that are there first.
select raw_file_hash, path, size, sha256, source_modified, status
from accession.file
where dataset = @dataset and group_name = @group_name and job_id = '' and raw_file_hash <> @hash
order by status in ('DOWNLOADED', 'READY', 'PROCESSING', 'PROCESSED', 'PROCESSING_FAILED', 'ABANDONED') desc, path
limit @max_rows;

-- name: FilesBefore :many
-- The files of a dataset that were modified before one, the latest first.
select raw_file_hash, path, size, sha256, source_modified, status
from accession.file
where dataset = @dataset and job_id = '' and (source_modified, path) < (@modified::timestamptz, @path::text)
order by source_modified desc, path desc
limit @max_rows;

-- name: FilesOfContent :many
-- The first file of a dataset with a content, known before another one.
select raw_file_hash, path, size, sha256, source_modified, status
from accession.file
where dataset = @dataset and sha256 = @sha256 and seq < @seq and job_id = ''
    and status in ('DOWNLOADED', 'READY', 'PROCESSING', 'PROCESSED', 'PROCESSING_FAILED', 'ABANDONED')
order by seq
limit 1;
