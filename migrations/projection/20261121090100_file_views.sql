-- Views over files, and those over batches and failed attempts with files in them.

-- +goose Up
create or replace view report.batch_summary as
select b.id as batch_id, b.status, b.submitter, b.profile_name, b.type, b.erc_what, b.file_name,
       b.rows_listed, b.jobs_completed, b.jobs_failed, b.jobs_held, b.jobs_deleted, b.jobs_in_progress,
       b.reason_class, b.reason_code, b.reason_message,
       b.submitted_at, b.started_at, b.reported_at, b.reports,
       extract(epoch from b.reported_at - b.submitted_at)::double precision as seconds_to_report,
       coalesce(c.files_listed, 0)::bigint as files_listed,
       coalesce(c.files_processed, 0)::bigint as files_processed,
       coalesce(c.files_skipped, 0)::bigint as files_skipped,
       coalesce(c.files_given_up, 0)::bigint as files_given_up,
       coalesce(c.files_deleted, 0)::bigint as files_deleted,
       coalesce(c.files_in_progress, 0)::bigint as files_in_progress,
       coalesce(c.bytes_listed, 0)::bigint as bytes_listed,
       coalesce(c.bytes_downloaded, 0)::bigint as bytes_downloaded
from accession.batch b
left join accession.file_count c on c.id = b.id
where b.version > 0;
comment on column report.batch_summary.files_listed is 'Files of all its jobs that are estimated. The five columns that follow sum up to it.';
comment on column report.batch_summary.files_processed is 'Files whose result is stored.';
comment on column report.batch_summary.files_skipped is 'Files that were left out, each with its reason.';
comment on column report.batch_summary.files_given_up is 'Files whose attempts are used up.';
comment on column report.batch_summary.files_deleted is 'Files of deleted jobs.';
comment on column report.batch_summary.files_in_progress is 'All other files.';
comment on column report.batch_summary.bytes_listed is 'Bytes of those files as far as they are known.';
comment on column report.batch_summary.bytes_downloaded is 'Bytes of the files that were downloaded.';

drop view report.retry_history;
create view report.retry_history as
select r.batch_id, r.job_id, r.attempt,
       coalesce(f.path, j.file_name, '')::text as file_name, coalesce(f.url, j.payload_url, '')::text as payload_url,
       r.status as failed_in, r.class, r.code, r.message, r.worker,
       r.failed_at, r.resumed_at, r.resumed_by, r.resumed_to,
       (case when r.kind = 'file' and r.outcome = 'open' and j.status = 'deleted' then 'deleted' else r.outcome end)::text as outcome,
       extract(epoch from r.resumed_at - r.failed_at)::double precision as seconds_waiting,
       r.kind, r.raw_file_hash, r.number
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

drop view report.failure_reasons;
create view report.failure_reasons as
select r.kind, r.failed_in, r.class, r.code, count(*) as failures, count(distinct r.job_id) as jobs,
       count(*) filter (where r.outcome in ('open', 'given_up') and r.resumed_at is null) as unresolved,
       max(r.failed_at) as last_failed_at,
       (array_agg(r.message order by r.failed_at desc, r.job_id))[1]::text as last_message
from report.retry_history r
group by r.kind, r.failed_in, r.class, r.code;
comment on view report.failure_reasons is 'One row per state and reason: what fails, how often, and how much of it still waits for an operator or depositor.';
comment on column report.failure_reasons.kind is 'What failed: job or file. A job that failed for its file is in both.';
comment on column report.failure_reasons.failed_in is 'The state that it failed in.';
comment on column report.failure_reasons.class is 'Who must act.';
comment on column report.failure_reasons.code is 'Stable word for programs.';
comment on column report.failure_reasons.failures is 'Failed attempts.';
comment on column report.failure_reasons.jobs is 'Jobs that this happened to at least once, or to a file of theirs.';
comment on column report.failure_reasons.unresolved is 'Jobs or files that stand failed so now.';
comment on column report.failure_reasons.last_failed_at is 'When it last happened.';
comment on column report.failure_reasons.last_message is 'The sentence of the last one.';

create view report.file_lifecycle as
select t.batch_id, t.job_id, f.path, t.raw_file_hash, t.version, t.from_status, t.to_status, t.at, t.seconds,
       t.actor, t.worker, t.download_attempts, t.processing_attempts, t.size, t.quarantine,
       t.reason_class, t.reason_code, t.reason_message
from accession.file_transition t
join accession.file f on f.raw_file_hash = t.raw_file_hash;
comment on view report.file_lifecycle is 'One row per change of a file''s state, with its name: what happened to it, how long each state took, and why.';
comment on column report.file_lifecycle.batch_id is 'The file''s batch; empty = none.';
comment on column report.file_lifecycle.job_id is 'The file''s job; empty = none.';
comment on column report.file_lifecycle.path is 'Its path within the source; for a file of a job its name.';
comment on column report.file_lifecycle.raw_file_hash is 'The file.';
comment on column report.file_lifecycle.version is 'Number of the event among the file''s events.';
comment on column report.file_lifecycle.from_status is 'State before; empty = it was discovered.';
comment on column report.file_lifecycle.to_status is 'State after.';
comment on column report.file_lifecycle.at is 'When it changed, by the log''s clock.';
comment on column report.file_lifecycle.seconds is 'Seconds that it had been in the state before.';
comment on column report.file_lifecycle.actor is 'Who changed it.';
comment on column report.file_lifecycle.worker is 'Worker that made the attempt which began or ended here; empty = none did.';
comment on column report.file_lifecycle.download_attempts is 'Downloads begun, this change included.';
comment on column report.file_lifecycle.processing_attempts is 'Processings begun, this change included.';
comment on column report.file_lifecycle.size is 'Bytes as known then, 0 = unknown.';
comment on column report.file_lifecycle.quarantine is 'Where a damaged file was put; empty = nowhere.';
comment on column report.file_lifecycle.reason_class is 'Who must act.';
comment on column report.file_lifecycle.reason_code is 'Stable word for programs.';
comment on column report.file_lifecycle.reason_message is 'Why.';

create view report.overdue_files as
select f.batch_id, f.job_id, f.path, f.raw_file_hash, f.version, f.status,
       f.status_since as started_at,
       extract(epoch from clock_timestamp() - f.status_since)::double precision as seconds_running,
       (case f.status when 'DOWNLOADING' then f.download_attempts else f.processing_attempts end)::bigint as attempt,
       f.worker, f.size
from accession.file f
left join accession.job j on j.id = f.job_id
where f.status in ('DOWNLOADING', 'PROCESSING') and j.status is distinct from 'deleted';
comment on view report.overdue_files is 'One row per attempt under way, to be asked with a limit: those with seconds_running > your timeout are overdue. Timeouts are settings, which SQL does not know.';
comment on column report.overdue_files.batch_id is 'The file''s batch; empty = none.';
comment on column report.overdue_files.job_id is 'The file''s job; empty = none.';
comment on column report.overdue_files.path is 'Its path within the source; for a file of a job its name.';
comment on column report.overdue_files.raw_file_hash is 'The file.';
comment on column report.overdue_files.version is 'Number of the file''s last event.';
comment on column report.overdue_files.status is 'DOWNLOADING or PROCESSING.';
comment on column report.overdue_files.started_at is 'When the attempt began, by the log''s clock.';
comment on column report.overdue_files.seconds_running is 'How long it has taken so far. PostgreSQL''s clock is compared with the log''s: good for people, while the sweeper asks the log for the time.';
comment on column report.overdue_files.attempt is 'Which attempt it is, from 1.';
comment on column report.overdue_files.worker is 'Worker that makes it.';
comment on column report.overdue_files.size is 'Bytes of the file, 0 = unknown.';

create view report.abandoned_files as
select f.batch_id, f.job_id, f.path, f.url, f.raw_file_hash, f.status, f.status_since as given_up_at,
       f.download_attempts, f.processing_attempts, f.reason_class, f.reason_code, f.reason_message, f.reason_worker
from accession.file f
left join accession.job j on j.id = f.job_id
where f.status in ('IGNORE', 'ABANDONED') and j.status is distinct from 'deleted';
comment on view report.abandoned_files is 'One row per file that was given up and waits for an operator: its attempts are used up.';
comment on column report.abandoned_files.batch_id is 'The file''s batch; empty = none.';
comment on column report.abandoned_files.job_id is 'The file''s job; empty = none.';
comment on column report.abandoned_files.path is 'Its path within the source; for a file of a job its name.';
comment on column report.abandoned_files.url is 'Where it was fetched; empty = not told.';
comment on column report.abandoned_files.raw_file_hash is 'The file.';
comment on column report.abandoned_files.status is 'IGNORE (it could not be downloaded) or ABANDONED (it could not be processed).';
comment on column report.abandoned_files.given_up_at is 'When it was given up.';
comment on column report.abandoned_files.download_attempts is 'Downloads that were tried.';
comment on column report.abandoned_files.processing_attempts is 'Processings that were tried.';
comment on column report.abandoned_files.reason_class is 'Who must act.';
comment on column report.abandoned_files.reason_code is 'Stable word for programs.';
comment on column report.abandoned_files.reason_message is 'Why the last attempt failed.';
comment on column report.abandoned_files.reason_worker is 'Worker that made it.';
