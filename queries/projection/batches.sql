-- name: LoadBatches :many
select * from accession.batch where id = any(@ids::text[]);
