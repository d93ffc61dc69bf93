-- Views for people and spreadsheets. A role that may read schema report and
-- nothing else sees all it needs.

-- +goose Up
create schema if not exists report;
comment on schema report is 'Views for people: read these, not the tables behind them.';

create view report.batch_summary as
select b.id as batch_id, b.status, b.submitter, b.profile_name, b.type, b.erc_what, b.file_name,
       b.rows_listed, b.jobs_completed, b.jobs_failed, b.jobs_held, b.jobs_deleted, b.jobs_in_progress,
       b.reason_class, b.reason_code, b.reason_message,
       b.submitted_at, b.started_at, b.reported_at, b.reports,
       extract(epoch from b.reported_at - b.submitted_at)::double precision as seconds_to_report
from accession.batch b
where b.version > 0;
comment on view report.batch_summary is 'One row per batch: where it stands and whether it adds up.';
comment on column report.batch_summary.batch_id is 'Batch id.';
comment on column report.batch_summary.status is 'State of the batch.';
comment on column report.batch_summary.submitter is 'Who deposited it.';
comment on column report.batch_summary.profile_name is 'Profile that the depositor named.';
comment on column report.batch_summary.type is 'Kind of submission.';
comment on column report.batch_summary.erc_what is 'Title, as the depositor gave it.';
comment on column report.batch_summary.file_name is 'File name of the payload.';
comment on column report.batch_summary.rows_listed is 'Jobs that its payload lists; null until it was read, 0 when it could not be. The five columns that follow sum up to it.';
comment on column report.batch_summary.jobs_completed is 'Jobs that completed.';
comment on column report.batch_summary.jobs_failed is 'Jobs that failed.';
comment on column report.batch_summary.jobs_held is 'Jobs that wait behind a hold.';
comment on column report.batch_summary.jobs_deleted is 'Jobs that were deleted.';
comment on column report.batch_summary.jobs_in_progress is 'Jobs under way or still to be made.';
comment on column report.batch_summary.reason_class is 'Who must act: content (the depositor), system (the operators), timeout, cancelled; wait = nothing failed.';
comment on column report.batch_summary.reason_code is 'Stable word for programs.';
comment on column report.batch_summary.reason_message is 'Why it failed or waits.';
comment on column report.batch_summary.submitted_at is 'When the deposit was accepted.';
comment on column report.batch_summary.started_at is 'When all its jobs existed.';
comment on column report.batch_summary.reported_at is 'When it was last reported to its depositor.';
comment on column report.batch_summary.reports is 'How many reports were made.';
comment on column report.batch_summary.seconds_to_report is 'Seconds from acceptance to the last report.';

create view report.retry_history as
select r.batch_id, r.job_id, r.attempt, j.file_name, j.payload_url, r.status as failed_in, r.class, r.code, r.message, r.worker,
       r.failed_at, r.resumed_at, r.resumed_by, r.resumed_to, r.outcome,
       extract(epoch from r.resumed_at - r.failed_at)::double precision as seconds_waiting
from accession.retry r
join accession.job j on j.id = r.job_id;
comment on view report.retry_history is 'One row per failed attempt of a job, with the name of what failed.';
comment on column report.retry_history.batch_id is 'The job''s batch.';
comment on column report.retry_history.job_id is 'The job.';
comment on column report.retry_history.attempt is 'Which attempt failed, from 1.';
comment on column report.retry_history.file_name is 'File name of the job''s payload.';
comment on column report.retry_history.payload_url is 'What the job fetches.';
comment on column report.retry_history.failed_in is 'The state that it failed in.';
comment on column report.retry_history.class is 'Who must act.';
comment on column report.retry_history.code is 'Stable word for programs.';
comment on column report.retry_history.message is 'Why it failed.';
comment on column report.retry_history.worker is 'Worker that made the attempt.';
comment on column report.retry_history.failed_at is 'When it failed.';
comment on column report.retry_history.resumed_at is 'When it was requeued; null = not yet.';
comment on column report.retry_history.resumed_by is 'Who requeued it.';
comment on column report.retry_history.resumed_to is 'The state that it went on from.';
comment on column report.retry_history.outcome is 'open, succeeded, failed_again, deleted or abandoned.';
comment on column report.retry_history.seconds_waiting is 'Seconds from the failure to its requeue.';

create view report.time_in_state as
select t.from_status as status, count(*) as times,
       percentile_cont(0.50) within group (order by t.seconds) as p50,
       percentile_cont(0.95) within group (order by t.seconds) as p95,
       percentile_cont(0.99) within group (order by t.seconds) as p99,
       max(t.seconds) as longest
from accession.job_transition t
where t.from_status <> ''
group by t.from_status;
comment on view report.time_in_state is 'One row per job state: how long jobs stayed in it, over all jobs that have left it.';
comment on column report.time_in_state.status is 'The state.';
comment on column report.time_in_state.times is 'How often a job left it.';
comment on column report.time_in_state.p50 is 'Half of the stays were shorter than this many seconds.';
comment on column report.time_in_state.p95 is '95 of 100 stays were shorter than this many seconds.';
comment on column report.time_in_state.p99 is '99 of 100 stays were shorter than this many seconds.';
comment on column report.time_in_state.longest is 'The longest stay, in seconds.';

create view report.failure_reasons as
select r.status as failed_in, r.class, r.code, count(*) as failures, count(distinct r.job_id) as jobs,
       count(*) filter (where r.outcome = 'open' and r.resumed_at is null) as unresolved,
       max(r.failed_at) as last_failed_at,
       (array_agg(r.message order by r.failed_at desc, r.job_id))[1]::text as last_message
from accession.retry r
group by r.status, r.class, r.code;
comment on view report.failure_reasons is 'One row per state and reason: what fails, how often, and how much of it still waits for an operator or depositor.';
comment on column report.failure_reasons.failed_in is 'The state that jobs failed in.';
comment on column report.failure_reasons.class is 'Who must act.';
comment on column report.failure_reasons.code is 'Stable word for programs.';
comment on column report.failure_reasons.failures is 'Failed attempts.';
comment on column report.failure_reasons.jobs is 'Jobs that failed so at least once.';
comment on column report.failure_reasons.unresolved is 'Jobs that stand failed so now.';
comment on column report.failure_reasons.last_failed_at is 'When it last happened.';
comment on column report.failure_reasons.last_message is 'The sentence of the last one.';
