-- name: LoadDeposits :many
-- The last one of each batch.
select distinct on (batch_id) * from accession.deposit where batch_id = any(@ids::text[]) order by batch_id, number desc;
