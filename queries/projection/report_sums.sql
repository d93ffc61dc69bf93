-- Reports that sum up. Without bounds they are what the views of the same name say.

-- name: ReportThroughput :many
-- By days in UTC, by which the indexes go; with a sequence of the log, of what was in the
-- log up to it.
select d.day::date as day, sum(d.batches_submitted)::bigint as batches_submitted, sum(d.jobs_completed)::bigint as jobs_completed,
       sum(d.jobs_failed)::bigint as jobs_failed, sum(d.files_downloaded)::bigint as files_downloaded,
       sum(d.bytes_downloaded)::bigint as bytes_downloaded, sum(d.files_processed)::bigint as files_processed
from (
    select (b.submitted_at at time zone 'UTC')::date as day, 1 as batches_submitted, 0 as jobs_completed, 0 as jobs_failed,
           0 as files_downloaded, 0::bigint as bytes_downloaded, 0 as files_processed
    from accession.batch b
    where (b.submitted_at at time zone 'UTC')::date >= date(timezone('UTC', @since::timestamptz))
        and (b.submitted_at at time zone 'UTC')::date <= date(timezone('UTC', @until::timestamptz))
        and b.submitted_at >= @since and b.submitted_at < @until
        and (@whole::boolean or exists (select 1 from accession.event e where e.aggregate_id = b.id and e.version = 1 and e.seq <= @up_to::bigint))
    union all
    select (j.at at time zone 'UTC')::date, 0, (j.to_status = 'completed')::integer, (j.to_status = 'failed')::integer, 0, 0, 0
    from accession.job_transition j
    where j.to_status in ('completed', 'failed') and (@whole or j.seq <= @up_to)
        and (j.at at time zone 'UTC')::date >= date(timezone('UTC', @since)) and (j.at at time zone 'UTC')::date <= date(timezone('UTC', @until))
        and j.at >= @since and j.at < @until
    union all
    select (f.at at time zone 'UTC')::date, 0, 0, 0, (f.to_status = 'DOWNLOADED')::integer,
           case f.to_status when 'DOWNLOADED' then f.size else 0 end, (f.to_status = 'PROCESSED')::integer
    from accession.file_transition f
    where f.to_status in ('DOWNLOADED', 'PROCESSED') and f.from_status <> 'SKIPPED' and (@whole or f.seq <= @up_to)
        and (f.at at time zone 'UTC')::date >= date(timezone('UTC', @since)) and (f.at at time zone 'UTC')::date <= date(timezone('UTC', @until))
        and f.at >= @since and f.at < @until
) d
group by d.day
order by d.day;

-- name: ReportTimeInState :many
select s.kind, s.status, count(*) as times,
       percentile_cont(0.50) within group (order by s.seconds)::double precision as p50,
       percentile_cont(0.95) within group (order by s.seconds)::double precision as p95,
       percentile_cont(0.99) within group (order by s.seconds)::double precision as p99,
       max(s.seconds)::double precision as longest
from (
    select 'job'::text as kind, j.from_status as status, j.seconds from accession.job_transition j
    where j.from_status <> '' and (@batch_id::text = '' or j.batch_id = @batch_id) and j.at >= @since and j.at < @until and j.seq <= @up_to::bigint
    union all
    select 'file'::text, f.from_status, f.seconds from accession.file_transition f
    where f.from_status <> '' and (@batch_id::text = '' or f.batch_id = @batch_id) and f.at >= @since and f.at < @until and f.seq <= @up_to
) s
group by s.kind, s.status
order by s.kind desc, s.status;

-- name: ReportFailures :many
select r.kind, r.failed_in, r.class, r.code, count(*) as failures, count(distinct r.job_id) as jobs,
       count(*) filter (where r.outcome in ('open', 'given_up') and r.resumed_at is null) as unresolved,
       max(r.failed_at)::timestamptz as last_failed_at,
       (array_agg(r.message order by r.failed_at desc, r.job_id))[1]::text as last_message
from report.retry_history r
where (@batch_id::text = '' or r.batch_id = @batch_id) and r.failed_at >= @since and r.failed_at < @until
group by r.kind, r.failed_in, r.class, r.code
order by failures desc, r.kind, r.failed_in, r.code;

-- name: ReportSubmitters :many
select b.submitter, count(*) as batches,
       count(*) filter (where b.status = 'completed') as batches_completed,
       count(*) filter (where b.status = 'failed') as batches_failed,
       coalesce(sum(b.rows_listed), 0)::bigint as jobs_listed, sum(b.jobs_completed)::bigint as jobs_completed,
       sum(b.jobs_failed)::bigint as jobs_failed, sum(b.jobs_held)::bigint as jobs_held,
       sum(b.jobs_deleted)::bigint as jobs_deleted, sum(b.jobs_in_progress)::bigint as jobs_in_progress,
       sum(b.files_listed)::bigint as files_listed, sum(b.bytes_downloaded)::bigint as bytes_downloaded,
       min(b.submitted_at)::timestamptz as first_submitted_at, max(b.submitted_at)::timestamptz as last_submitted_at
from report.batch_summary b
where b.submitted_at >= @since and b.submitted_at < @until
group by b.submitter
order by b.submitter;

-- name: ReportCollections :many
select j.collection, j.status, count(*) as jobs, coalesce(sum(j.files), 0)::bigint as files, coalesce(sum(j.bytes), 0)::bigint as bytes,
       min(j.status_since)::timestamptz as oldest_since
from accession.job j
where j.version > 0
group by j.collection, j.status;
