-- Work in the compute queue.

-- +goose Up
create table accession.compute_entry (
    id             text primary key,
    version        bigint not null,
    status         text not null,
    dataset        text not null,
    group_name     text not null,
    priority       bigint not null,
    key            text not null,
    submitter      text not null,
    inputs         jsonb not null,
    attempt        bigint not null,
    worker         text,
    requested_at   timestamptz not null,
    claimed_at     timestamptz,
    ended_at       timestamptz,
    exit_status    bigint,
    result_sha256  text,
    result_size    bigint,
    reason_class   text,
    reason_code    text,
    reason_message text,
    reason_who_acts text,
    last_modified  timestamptz not null,
    command_id     text not null
);
create index compute_entry_status on accession.compute_entry (status, id);
create index compute_entry_dataset on accession.compute_entry (dataset, id);
create index compute_entry_key on accession.compute_entry (key, id);
comment on table accession.compute_entry is 'One row per entry of the compute queue: work that waits for a worker, or has ended.';
comment on column accession.compute_entry.id is 'Entry id.';
comment on column accession.compute_entry.version is 'Number of its last event.';
comment on column accession.compute_entry.status is 'PENDING, STAGING (a worker has it), SUCCESSFUL, FAILED or PURGED (it has left ZooKeeper).';
comment on column accession.compute_entry.dataset is 'Dataset that it is about.';
comment on column accession.compute_entry.group_name is 'Group of the dataset; empty = all of it.';
comment on column accession.compute_entry.priority is '0 to 999; the higher one runs first.';
comment on column accession.compute_entry.key is 'What is requested twice under one key is one entry.';
comment on column accession.compute_entry.submitter is 'Who requested it.';
comment on column accession.compute_entry.inputs is 'URLs of its inputs, a list.';
comment on column accession.compute_entry.attempt is 'How often a worker has taken it, since it was requested or tried again.';
comment on column accession.compute_entry.worker is 'Worker that has it, or had it last; null = none had.';
comment on column accession.compute_entry.requested_at is 'When it was requested.';
comment on column accession.compute_entry.claimed_at is 'When a worker took it last; null = none did.';
comment on column accession.compute_entry.ended_at is 'When it was completed or failed; null = it has not ended.';
comment on column accession.compute_entry.exit_status is 'Exit status of the command that made its result; null = there is no result.';
comment on column accession.compute_entry.result_sha256 is 'SHA-256 of its result, in hex.';
comment on column accession.compute_entry.result_size is 'Bytes of its result.';
comment on column accession.compute_entry.reason_class is 'Class of the reason why it waits again or has failed; null = there is none.';
comment on column accession.compute_entry.reason_code is 'Code of that reason.';
comment on column accession.compute_entry.reason_message is 'Sentence of that reason.';
comment on column accession.compute_entry.reason_who_acts is 'Who must act on that reason; empty = not known.';
comment on column accession.compute_entry.last_modified is 'When it last changed, by the clock of the writer.';
comment on column accession.compute_entry.command_id is 'Command that wrote its last event.';

create view report.compute_wait as
select e.id as entry_id, e.status, e.dataset, e.group_name, e.priority, e.submitter, e.attempt, e.worker, e.requested_at, e.claimed_at, e.ended_at,
    e.exit_status, e.reason_class, e.reason_code, e.reason_message,
    extract(epoch from e.claimed_at - e.requested_at)::double precision as seconds_waiting,
    extract(epoch from e.ended_at - e.claimed_at)::double precision as seconds_running
from accession.compute_entry e;
comment on view report.compute_wait is 'One row per entry of the compute queue: how long it has waited and run, and why it has failed.';
comment on column report.compute_wait.entry_id is 'Entry id.';
comment on column report.compute_wait.status is 'PENDING, STAGING (a worker has it), SUCCESSFUL, FAILED or PURGED (it has left ZooKeeper).';
comment on column report.compute_wait.dataset is 'Dataset that it is about.';
comment on column report.compute_wait.group_name is 'Group of the dataset; empty = all of it.';
comment on column report.compute_wait.priority is '0 to 999; the higher one runs first.';
comment on column report.compute_wait.submitter is 'Who requested it.';
comment on column report.compute_wait.attempt is 'How often a worker has taken it, since it was requested or tried again.';
comment on column report.compute_wait.worker is 'Worker that has it, or had it last; null = none had.';
comment on column report.compute_wait.requested_at is 'When it was requested.';
comment on column report.compute_wait.claimed_at is 'When a worker took it last; null = none did.';
comment on column report.compute_wait.ended_at is 'When it was completed or failed; null = it has not ended.';
comment on column report.compute_wait.exit_status is 'Exit status of the command that made its result; null = there is no result.';
comment on column report.compute_wait.reason_class is 'Class of the reason why it waits again or has failed; null = there is none.';
comment on column report.compute_wait.reason_code is 'Code of that reason.';
comment on column report.compute_wait.reason_message is 'Sentence of that reason.';
comment on column report.compute_wait.seconds_waiting is 'Seconds from its request to its last claim; null = not claimed.';
comment on column report.compute_wait.seconds_running is 'Seconds from its last claim to its end; null = not ended.';
