-- The own steps of jobs, which stand in the compute queue.

-- +goose Up
create index compute_entry_stranded on accession.compute_entry (id) where status = 'PENDING' and key like 'job/%';
create index compute_entry_job on accession.compute_entry (split_part(key, '/', 2), id) where key like 'job/%';

create view report.job_step as
select split_part(e.key, '/', 2) as job_id, split_part(e.key, '/', 3) as step, substring(e.key from '^job/[^/]+/[^/]+/([0-9]+)')::bigint as retry_count,
    coalesce(substring(e.key from '^job/[^/]+/[^/]+/[0-9]+/([0-9]+)$'), '1')::bigint as part, e.id as entry_id, e.status, e.attempt, e.worker,
    e.requested_at, e.claimed_at, e.ended_at, e.exit_status, e.result_sha256, e.reason_class, e.reason_code, e.reason_message
from accession.compute_entry e
where e.key ~ '^job/jid[0-9]{10}/[a-z0-9_-]+/[0-9]+(/[0-9]+)?$';
comment on view report.job_step is 'One row per own step of a job and attempt at the job, and per 100 of its files: the work that waits in the compute queue, or has ended. Its result is the row of record.compute_result with the same entry_id and the same SHA-256.';
comment on column report.job_step.job_id is 'Job id.';
comment on column report.job_step.step is 'Name of the step in the profile.';
comment on column report.job_step.retry_count is 'How often the job had been requeued when the step was requested.';
comment on column report.job_step.part is 'Which 100 files of the job it is about, from 1.';
comment on column report.job_step.entry_id is 'Entry id.';
comment on column report.job_step.status is 'PENDING, STAGING (a worker has it), SUCCESSFUL, FAILED or PURGED (it has left ZooKeeper).';
comment on column report.job_step.attempt is 'How often a worker has taken it.';
comment on column report.job_step.worker is 'Worker that has it, or had it last; null = none had.';
comment on column report.job_step.requested_at is 'When it was requested.';
comment on column report.job_step.claimed_at is 'When a worker took it last; null = none did.';
comment on column report.job_step.ended_at is 'When it was completed or failed; null = it has not ended.';
comment on column report.job_step.exit_status is 'Exit status of the command that made its result; null = there is no result.';
comment on column report.job_step.result_sha256 is 'SHA-256 of its result, in hex; null = there is none.';
comment on column report.job_step.reason_class is 'Class of the reason why it waits again or has failed; null = there is none.';
comment on column report.job_step.reason_code is 'Code of that reason.';
comment on column report.job_step.reason_message is 'Sentence of that reason.';
