-- What people ask for: lists with a bound, newest first where nothing else orders
-- them.

-- name: BatchSummaries :many
select s.* from report.batch_summary s
join accession.batch b on b.id = s.batch_id
where (@state::text = '' or b.status = @state) and (@before::text = '' or b.id < @before)
    and (@profile::text = '' or b.profile_name = @profile) and (@collection::text = '' or b.collection = @collection)
    and (@submitter::text = '' or b.submitter = @submitter) and (@code::text = '' or b.reason_code = @code)
    and (sqlc.narg(since)::timestamptz is null or b.submitted_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or b.submitted_at < sqlc.narg(until))
    and (not @limited::boolean or b.collection = any(@collections::text[]) or @own::text <> '' and b.submitter = @own)
order by s.batch_id desc
limit @max_rows;

-- name: BatchSummariesOfHost :many
-- A statement of its own: as one condition of many, PostgreSQL would ask it of each batch.
select s.* from report.batch_summary s
join accession.batch b on b.id = s.batch_id
where b.id in (select j.batch_id from accession.job j where j.host = @host) and (@state::text = '' or b.status = @state) and (@before::text = '' or b.id < @before)
    and (@profile::text = '' or b.profile_name = @profile) and (@collection::text = '' or b.collection = @collection)
    and (@submitter::text = '' or b.submitter = @submitter) and (@code::text = '' or b.reason_code = @code)
    and (sqlc.narg(since)::timestamptz is null or b.submitted_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or b.submitted_at < sqlc.narg(until))
    and (not @limited::boolean or b.collection = any(@collections::text[]) or @own::text <> '' and b.submitter = @own)
order by s.batch_id desc
limit @max_rows;

-- name: BatchSummary :one
select * from report.batch_summary where batch_id = @batch_id;

-- name: BatchReports :many
select * from accession.batch_report where batch_id = @batch_id order by report;

-- name: RetryHistory :many
-- Of its jobs, a page at a time; a number is that of the event among the job's events.
select * from report.retry_history
where batch_id = @batch_id and kind = 'job' and (@job_id::text = '' or job_id = @job_id)
    and (@code::text = '' or code = @code) and (@outcome::text = '' or outcome = @outcome)
    and (sqlc.narg(since)::timestamptz is null or failed_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or failed_at < sqlc.narg(until))
    and (job_id, number) > (@after_job::text, @after_number::bigint)
order by job_id, number limit @max_rows;

-- name: Jobs :many
select * from accession.job
where (@batch_id::text = '' or batch_id = @batch_id) and (@state::text = '' or status = @state)
    and (@after::text = '' or id > @after)
    and (@profile::text = '' or profile_name = @profile) and (@collection::text = '' or collection = @collection)
    and (@submitter::text = '' or submitter = @submitter) and (@code::text = '' or reason_code = @code)
    and (@host::text = '' or host = @host)
    and (sqlc.narg(since)::timestamptz is null or created_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or created_at < sqlc.narg(until))
    and (not @limited::boolean or collection = any(@collections::text[]) or @own::text <> '' and submitter = @own)
order by id
limit @max_rows;

-- name: Job :one
select * from accession.job where id = @id;

-- name: JobTransitions :many
select * from accession.job_transition where job_id = @job_id order by version;

-- name: JobRetries :many
select * from report.retry_history where job_id = @job_id and kind = 'job' order by attempt;

-- name: CountBatches :many
-- A batch that has no event yet has no state. The index on states answers it alone.
select status, count(*) as n from accession.batch where status <> '' group by status;

-- name: BatchMessages :many
-- What the history has of the messages about a batch.
select coalesce(data ->> 'delivery', '')::text as delivery, actor, trace_parent,
    coalesce(data -> 'reason' ->> 'message', '')::text as reason
from accession.event where aggregate_id = @batch_id::text and type = 'batch.reported' order by version;
