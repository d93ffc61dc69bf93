-- name: HighestIDs :one
-- Ids have ten digits, so that the highest is the last in their order.
select coalesce((select max(b.id) from accession.batch b), '')::text as batch_id,
    coalesce((select max(j.id) from accession.job j), '')::text as job_id;

-- name: CountReportViews :one
-- The views of schema report follow from the migrations; none is left when it was dropped.
select count(*) from pg_catalog.pg_views v where v.schemaname = 'report';
