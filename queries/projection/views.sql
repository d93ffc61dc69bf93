-- What people ask for: lists with a bound, newest first where nothing else orders
-- them.

-- name: BatchSummaries :many
select * from report.batch_summary
where (@status::text = '' or status = @status) and (@submitter::text = '' or submitter = @submitter)
    and (@before::text = '' or batch_id < @before)
order by batch_id desc
limit @max_rows;

-- name: BatchSummary :one
select * from report.batch_summary where batch_id = @batch_id;

-- name: BatchReports :many
select * from accession.batch_report where batch_id = @batch_id order by report;

-- name: RetryHistory :many
select * from report.retry_history where batch_id = @batch_id and kind = 'job' order by job_id, attempt limit @max_rows;

-- name: Jobs :many
select * from accession.job
where (@batch_id::text = '' or batch_id = @batch_id) and (@status::text = '' or status = @status)
    and (@after::text = '' or id > @after)
order by id
limit @max_rows;

-- name: Job :one
select * from accession.job where id = @id;

-- name: JobTransitions :many
select * from accession.job_transition where job_id = @job_id order by version;

-- name: JobRetries :many
select * from report.retry_history where job_id = @job_id and kind = 'job' order by attempt;

-- name: CountBatches :many
select status, count(*) as n from accession.batch where version > 0 group by status;

-- name: BatchMessages :many
-- What the history has of the messages about a batch.
select coalesce(data ->> 'delivery', '')::text as delivery, actor, trace_parent,
    coalesce(data -> 'reason' ->> 'message', '')::text as reason
from accession.event where aggregate_id = @batch_id::text and type = 'batch.reported' order by version;
