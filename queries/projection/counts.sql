-- How many rows a list would have without its bound, counted up to a number.

-- name: CountListedBatches :one
select count(*) from (select from accession.batch b
where b.version > 0 and (@state::text = '' or b.status = @state)
    and (@profile::text = '' or b.profile_name = @profile) and (@collection::text = '' or b.collection = @collection)
    and (@submitter::text = '' or b.submitter = @submitter) and (@code::text = '' or b.reason_code = @code)
    and (sqlc.narg(since)::timestamptz is null or b.submitted_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or b.submitted_at < sqlc.narg(until))
    and (not @limited::boolean or b.collection = any(@collections::text[]) or @own::text <> '' and b.submitter = @own)
    limit @most) counted;

-- name: CountListedBatchesOfHost :one
select count(*) from (select from accession.batch b
where b.version > 0 and b.id in (select j.batch_id from accession.job j where j.host = @host) and (@state::text = '' or b.status = @state)
    and (@profile::text = '' or b.profile_name = @profile) and (@collection::text = '' or b.collection = @collection)
    and (@submitter::text = '' or b.submitter = @submitter) and (@code::text = '' or b.reason_code = @code)
    and (sqlc.narg(since)::timestamptz is null or b.submitted_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or b.submitted_at < sqlc.narg(until))
    and (not @limited::boolean or b.collection = any(@collections::text[]) or @own::text <> '' and b.submitter = @own)
    limit @most) counted;

-- name: CountListedJobs :one
select count(*) from (select from accession.job
where (@batch_id::text = '' or batch_id = @batch_id) and (@state::text = '' or status = @state)
    and (@profile::text = '' or profile_name = @profile) and (@collection::text = '' or collection = @collection)
    and (@submitter::text = '' or submitter = @submitter) and (@code::text = '' or reason_code = @code)
    and (@host::text = '' or host = @host)
    and (sqlc.narg(since)::timestamptz is null or created_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or created_at < sqlc.narg(until))
    and (not @limited::boolean or collection = any(@collections::text[]) or @own::text <> '' and submitter = @own)
    limit @most) counted;

-- name: CountRetries :one
select count(*) from report.retry_history where batch_id = @batch_id and kind = 'job';
