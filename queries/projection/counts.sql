-- How many rows a list would have without its bound.

-- name: CountListedBatches :one
select count(*) from accession.batch
where version > 0 and (@status::text = '' or status = @status) and (@submitter::text = '' or submitter = @submitter);

-- name: CountListedJobs :one
select count(*) from accession.job
where (@batch_id::text = '' or batch_id = @batch_id) and (@status::text = '' or status = @status);

-- name: CountRetries :one
select count(*) from report.retry_history where batch_id = @batch_id and kind = 'job';
