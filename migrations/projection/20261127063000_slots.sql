-- Slots: groups of a dataset with their time windows.

-- +goose Up
create table accession.slot (
    id             text primary key,
    version        bigint not null,
    status         text not null,
    dataset        text not null,
    group_name     text not null,
    opens_at       timestamptz not null,
    closes_at      timestamptz not null,
    files_arrived  bigint not null,
    created_at     timestamptz not null,
    status_since   timestamptz not null,
    reason_class   text,
    reason_code    text,
    reason_message text,
    last_modified  timestamptz not null,
    command_id     text not null
);
create index slot_dataset on accession.slot (dataset, closes_at, id);
create index slot_open on accession.slot (id) where status in ('PENDING', 'ACTIVE');
comment on table accession.slot is 'One row per slot: a group of a dataset, with the time window in which its files may become ready.';
comment on column accession.slot.id is 'Dataset and group, DATASET:GROUP; other bytes than letters, digits and . _ - are percent-encoded.';
comment on column accession.slot.version is 'Number of its last event.';
comment on column accession.slot.status is 'PENDING, ACTIVE, DONE or MISSED.';
comment on column accession.slot.dataset is 'The dataset.';
comment on column accession.slot.group_name is 'The group of files.';
comment on column accession.slot.opens_at is 'Begin of its window.';
comment on column accession.slot.closes_at is 'End of its window.';
comment on column accession.slot.files_arrived is 'Files that had arrived when it ended; 0 before that.';
comment on column accession.slot.created_at is 'When it was made, by the clock of the log.';
comment on column accession.slot.status_since is 'When it entered the state that it is in, by the clock of the log.';
comment on column accession.slot.reason_class is 'Who must act on the reason of its last change; null = there is none.';
comment on column accession.slot.reason_code is 'Code of that reason.';
comment on column accession.slot.reason_message is 'Sentence of that reason.';
comment on column accession.slot.last_modified is 'When it last changed, by the clock of the writer.';
comment on column accession.slot.command_id is 'Command that wrote its last event.';

create table accession.slot_transition (
    slot_id        text not null,
    version        bigint not null,
    dataset        text not null,
    group_name     text not null,
    from_status    text not null,
    to_status      text not null,
    from_since     timestamptz,
    at             timestamptz not null,
    actor          text not null,
    opens_at       timestamptz not null,
    closes_at      timestamptz not null,
    files_arrived  bigint not null,
    reason_class   text,
    reason_code    text,
    reason_message text,
    seq            bigint not null,
    primary key (slot_id, version)
);
comment on table accession.slot_transition is 'One row per change of a slot''s state. Times are those of the clock of the log.';
comment on column accession.slot_transition.slot_id is 'The slot.';
comment on column accession.slot_transition.version is 'Number of the event among the slot''s events.';
comment on column accession.slot_transition.dataset is 'Its dataset.';
comment on column accession.slot_transition.group_name is 'Its group.';
comment on column accession.slot_transition.from_status is 'State before; empty = it was made.';
comment on column accession.slot_transition.to_status is 'State after.';
comment on column accession.slot_transition.from_since is 'When it had entered the state before; null when it was made.';
comment on column accession.slot_transition.at is 'When the log took the change.';
comment on column accession.slot_transition.actor is 'Who changed it.';
comment on column accession.slot_transition.opens_at is 'Begin of its window, after the change.';
comment on column accession.slot_transition.closes_at is 'End of its window, after the change.';
comment on column accession.slot_transition.files_arrived is 'Files that had arrived when it ended; 0 for other changes.';
comment on column accession.slot_transition.reason_class is 'Class of the reason given; null = none.';
comment on column accession.slot_transition.reason_code is 'Code of the reason given.';
comment on column accession.slot_transition.reason_message is 'Sentence of the reason given.';
comment on column accession.slot_transition.seq is 'Sequence of the event in the log.';

create index file_group on accession.file (dataset, group_name) where job_id = '';

create view report.slot_progress as
select s.id as slot_id, s.dataset, s.group_name, s.status, s.opens_at, s.closes_at, s.status_since, s.reason_class, s.reason_code, s.reason_message,
    f.files, f.files_arrived, f.files_waiting, f.files_ready, f.files_processed, f.files_skipped, f.files_given_up, f.bytes_arrived
from accession.slot s
left join lateral (
    select count(*) as files,
        count(*) filter (where r.sha256 <> '') as files_arrived,
        count(*) filter (where r.status = 'DOWNLOADED') as files_waiting,
        count(*) filter (where r.status in ('READY', 'PROCESSING', 'PROCESSING_FAILED')) as files_ready,
        count(*) filter (where r.status = 'PROCESSED') as files_processed,
        count(*) filter (where r.status = 'SKIPPED') as files_skipped,
        count(*) filter (where r.status in ('IGNORE', 'ABANDONED')) as files_given_up,
        coalesce(sum(r.size) filter (where r.sha256 <> ''), 0)::bigint as bytes_arrived
    from accession.file r where r.dataset = s.dataset and r.group_name = s.group_name and r.job_id = ''
) f on true;
comment on view report.slot_progress is 'One row per slot: its window, and how many of its files stand where.';
comment on column report.slot_progress.slot_id is 'The slot, DATASET:GROUP.';
comment on column report.slot_progress.dataset is 'The dataset.';
comment on column report.slot_progress.group_name is 'The group of files.';
comment on column report.slot_progress.status is 'PENDING, ACTIVE, DONE or MISSED.';
comment on column report.slot_progress.opens_at is 'Begin of its window.';
comment on column report.slot_progress.closes_at is 'End of its window.';
comment on column report.slot_progress.status_since is 'When it entered the state that it is in.';
comment on column report.slot_progress.reason_class is 'Class of the reason of its last change; null = there is none.';
comment on column report.slot_progress.reason_code is 'Code of that reason.';
comment on column report.slot_progress.reason_message is 'Sentence of that reason.';
comment on column report.slot_progress.files is 'Files of its group that were discovered, without those of jobs.';
comment on column report.slot_progress.files_arrived is 'Those whose content is there, or was processed or skipped.';
comment on column report.slot_progress.files_waiting is 'Those that wait to become ready.';
comment on column report.slot_progress.files_ready is 'Those that are ready or being processed.';
comment on column report.slot_progress.files_processed is 'Those whose result is stored.';
comment on column report.slot_progress.files_skipped is 'Those that were left out.';
comment on column report.slot_progress.files_given_up is 'Those whose attempts are used up.';
comment on column report.slot_progress.bytes_arrived is 'Bytes of those that have arrived.';
