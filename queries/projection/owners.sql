-- Whose things are: which callers may see and change them.

-- name: OwnerOfBatch :one
select submitter, collection, version, profile_name as profile from accession.batch where id = @id and version > 0;

-- name: OwnerOfJob :one
select submitter, collection, version, profile_name as profile from accession.job where id = @id and version > 0;

-- name: OwnerOfFile :one
select coalesce(j.submitter, '')::text as submitter, f.collection, f.version, coalesce(nullif(f.profile_name, ''), j.profile_name, '')::text as profile from accession.file f
left join accession.job j on j.id = f.job_id
where f.raw_file_hash = @hash;

-- name: OwnerOfQuery :one
select submitter, ''::text as collection, version, ''::text as profile from accession.query where id = @id;

-- name: OwnerOfEntry :one
select submitter, ''::text as collection, version, ''::text as profile from accession.compute_entry where id = @id;
