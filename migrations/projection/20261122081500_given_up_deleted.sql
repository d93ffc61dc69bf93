-- A file that was given up waits for no operator when its job is deleted, as a file whose
-- failure is open does not.

-- +goose Up
create or replace view report.retry_history as
select r.batch_id, r.job_id, r.attempt,
       coalesce(f.path, j.file_name, '')::text as file_name, coalesce(f.url, j.payload_url, '')::text as payload_url,
       r.status as failed_in, r.class, r.code, r.message, r.worker,
       r.failed_at, r.resumed_at, r.resumed_by, r.resumed_to,
       (case when r.kind = 'file' and r.outcome in ('open', 'given_up') and j.status = 'deleted' then 'deleted' else r.outcome end)::text as outcome,
       extract(epoch from r.resumed_at - r.failed_at)::double precision as seconds_waiting,
       r.kind, r.raw_file_hash, r.number, r.trace_id
from accession.retry r
left join accession.job j on j.id = r.job_id
left join accession.file f on r.kind = 'file' and f.raw_file_hash = r.raw_file_hash;
comment on view report.retry_history is 'One row per failed attempt of a job or a file, with the name of what failed.';
comment on column report.retry_history.batch_id is 'Its batch; empty = none.';
comment on column report.retry_history.job_id is 'The job, or the file''s job.';
comment on column report.retry_history.attempt is 'Which attempt failed, from 1.';
comment on column report.retry_history.file_name is 'Path of the file, or file name of the job''s payload.';
comment on column report.retry_history.payload_url is 'What was fetched.';
comment on column report.retry_history.failed_in is 'The state that it failed in.';
comment on column report.retry_history.class is 'Who must act.';
comment on column report.retry_history.code is 'Stable word for programs.';
comment on column report.retry_history.message is 'Why it failed.';
comment on column report.retry_history.worker is 'Worker that made the attempt.';
comment on column report.retry_history.failed_at is 'When it failed.';
comment on column report.retry_history.resumed_at is 'When it was requeued, or its next attempt allowed; null = not yet.';
comment on column report.retry_history.resumed_by is 'Who did that.';
comment on column report.retry_history.resumed_to is 'The state that it went on from.';
comment on column report.retry_history.outcome is 'open, succeeded, failed_again, given_up, deleted or abandoned.';
comment on column report.retry_history.seconds_waiting is 'Seconds from the failure to its going on.';
comment on column report.retry_history.kind is 'What failed: job or file.';
comment on column report.retry_history.raw_file_hash is 'The file; empty = the job itself failed.';
comment on column report.retry_history.number is 'Orders the failures of one job or file.';
comment on column report.retry_history.trace_id is 'Trace of the failure, as in the lines of the log; null = none.';
