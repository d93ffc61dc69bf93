-- Whose things are: which callers may see and change them.

-- name: OwnerOfBatch :one
select submitter, collection, version from accession.batch where id = @id and version > 0;

-- name: OwnerOfJob :one
select submitter, collection, version from accession.job where id = @id and version > 0;

-- name: OwnerOfFile :one
select coalesce(j.submitter, '')::text as submitter, f.collection, f.version from accession.file f
left join accession.job j on j.id = f.job_id
where f.raw_file_hash = @hash;
