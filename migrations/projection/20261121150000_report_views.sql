-- What analysts ask for: time in state of jobs and files, throughput by day, and
-- who deposits; with the indexes that these and the lists by time need.

-- +goose Up
drop view report.time_in_state;
create view report.time_in_state as
select s.kind, s.status, count(*) as times,
       percentile_cont(0.50) within group (order by s.seconds) as p50,
       percentile_cont(0.95) within group (order by s.seconds) as p95,
       percentile_cont(0.99) within group (order by s.seconds) as p99,
       max(s.seconds)::double precision as longest
from (
    select 'job'::text as kind, from_status as status, seconds from accession.job_transition where from_status <> ''
    union all
    select 'file'::text, from_status, seconds from accession.file_transition where from_status <> ''
) s
group by s.kind, s.status;
comment on view report.time_in_state is 'One row per state of jobs and of files: how long they stayed in it, over all stays that have ended.';
comment on column report.time_in_state.kind is 'What was in the state: job or file.';
comment on column report.time_in_state.status is 'The state.';
comment on column report.time_in_state.times is 'How often one left it.';
comment on column report.time_in_state.p50 is 'Half of the stays were not longer than this many seconds.';
comment on column report.time_in_state.p95 is '95 of 100 stays were not longer than this many seconds.';
comment on column report.time_in_state.p99 is '99 of 100 stays were not longer than this many seconds.';
comment on column report.time_in_state.longest is 'The longest stay, in seconds.';

create index batch_submitted_day on accession.batch (((submitted_at at time zone 'UTC')::date));
create index job_transition_ended_day on accession.job_transition (((at at time zone 'UTC')::date))
    where to_status in ('completed', 'failed');
create index file_transition_ended_day on accession.file_transition (((at at time zone 'UTC')::date))
    where to_status in ('DOWNLOADED', 'PROCESSED');
create index retry_failed_at on accession.retry (failed_at);
create index event_time on accession.event (time);

create view report.daily_throughput as
select d.day, sum(d.batches_submitted)::bigint as batches_submitted, sum(d.jobs_completed)::bigint as jobs_completed,
       sum(d.jobs_failed)::bigint as jobs_failed, sum(d.files_downloaded)::bigint as files_downloaded,
       sum(d.bytes_downloaded)::bigint as bytes_downloaded, sum(d.files_processed)::bigint as files_processed
from (
    select (submitted_at at time zone 'UTC')::date as day, 1 as batches_submitted, 0 as jobs_completed, 0 as jobs_failed,
           0 as files_downloaded, 0::bigint as bytes_downloaded, 0 as files_processed
    from accession.batch where submitted_at is not null
    union all
    select (at at time zone 'UTC')::date, 0, (to_status = 'completed')::integer, (to_status = 'failed')::integer, 0, 0, 0
    from accession.job_transition where to_status in ('completed', 'failed')
    union all
    select (at at time zone 'UTC')::date, 0, 0, 0, (to_status = 'DOWNLOADED')::integer,
           case to_status when 'DOWNLOADED' then size else 0 end, (to_status = 'PROCESSED')::integer
    from accession.file_transition
    where to_status in ('DOWNLOADED', 'PROCESSED') and from_status <> 'SKIPPED'
) d
group by d.day;
comment on view report.daily_throughput is 'One row per day (UTC) on which anything was deposited or ended: what came in and what was done.';
comment on column report.daily_throughput.day is 'The day, in UTC.';
comment on column report.daily_throughput.batches_submitted is 'Batches that were deposited on it.';
comment on column report.daily_throughput.jobs_completed is 'Jobs that completed on it.';
comment on column report.daily_throughput.jobs_failed is 'Attempts of jobs that failed on it; a job that fails twice is in it twice.';
comment on column report.daily_throughput.files_downloaded is 'Downloads that succeeded on it.';
comment on column report.daily_throughput.bytes_downloaded is 'Their bytes.';
comment on column report.daily_throughput.files_processed is 'Files whose processing succeeded on it.';

create view report.submitter_activity as
select b.submitter, count(*) as batches,
       count(*) filter (where b.status = 'completed') as batches_completed,
       count(*) filter (where b.status = 'failed') as batches_failed,
       coalesce(sum(b.rows_listed), 0)::bigint as jobs_listed, sum(b.jobs_completed)::bigint as jobs_completed,
       sum(b.jobs_failed)::bigint as jobs_failed, sum(b.jobs_held)::bigint as jobs_held,
       sum(b.jobs_deleted)::bigint as jobs_deleted, coalesce(sum(b.jobs_in_progress), 0)::bigint as jobs_in_progress,
       coalesce(sum(c.files_listed), 0)::bigint as files_listed,
       coalesce(sum(c.bytes_downloaded), 0)::bigint as bytes_downloaded,
       min(b.submitted_at)::timestamptz as first_submitted_at, max(b.submitted_at)::timestamptz as last_submitted_at
from accession.batch b
left join accession.file_count c on c.id = b.id
where b.version > 0
group by b.submitter;
comment on view report.submitter_activity is 'One row per depositor: what they deposited and what became of it. jobs_listed = jobs_completed + jobs_failed + jobs_held + jobs_deleted + jobs_in_progress.';
comment on column report.submitter_activity.submitter is 'Who deposited.';
comment on column report.submitter_activity.batches is 'Batches, whatever became of them.';
comment on column report.submitter_activity.batches_completed is 'Of these, batches that stand completed now.';
comment on column report.submitter_activity.batches_failed is 'Of these, batches that stand failed now.';
comment on column report.submitter_activity.jobs_listed is 'Jobs that the batches list.';
comment on column report.submitter_activity.jobs_completed is 'Jobs that completed.';
comment on column report.submitter_activity.jobs_failed is 'Jobs that stand failed now.';
comment on column report.submitter_activity.jobs_held is 'Jobs that wait behind a hold now.';
comment on column report.submitter_activity.jobs_deleted is 'Jobs that were deleted.';
comment on column report.submitter_activity.jobs_in_progress is 'Jobs that are under way now.';
comment on column report.submitter_activity.files_listed is 'Files of all these jobs.';
comment on column report.submitter_activity.bytes_downloaded is 'Bytes of these files that were fetched.';
comment on column report.submitter_activity.first_submitted_at is 'When the first batch came.';
comment on column report.submitter_activity.last_submitted_at is 'When the last batch came.';
