-- name: LoadJobs :many
select * from accession.job where id = any(@ids::text[]);
