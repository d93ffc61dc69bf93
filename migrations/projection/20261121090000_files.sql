-- Files: their state, every change of it, their failed attempts beside those of
-- jobs, and counters, so that no query has to count. What is in the tables before this
-- holds no files: nothing of the log is missing in them.

-- +goose Up
create table accession.file (
    raw_file_hash         text        primary key,
    version               bigint      not null,
    status                text        not null,
    seq                   bigint      not null,
    batch_id              text        not null,
    job_id                text        not null,
    source                text        not null,
    path                  text        not null,
    by_version            boolean     not null,
    url                   text        not null,
    listed_size           bigint      not null,
    source_modified       timestamptz,
    digest_algorithm      text        not null,
    digest_value          text        not null,
    size                  bigint      not null,
    sha256                text        not null,
    download_attempts     bigint      not null,
    processing_attempts   bigint      not null,
    download_started_at   timestamptz,
    processing_started_at timestamptz,
    failed_at             timestamptz,
    fence                 bigint      not null,
    worker                text        not null,
    output_key            text,
    output_sha256         text,
    output_size           bigint,
    reason_class          text,
    reason_code           text,
    reason_message        text,
    reason_attempt        bigint,
    reason_worker         text,
    open_failure          bigint,
    discovered_at         timestamptz not null,
    status_since          timestamptz not null,
    last_modified         timestamptz,
    command_id            text        not null
) with (fillfactor = 80);
create index file_seq on accession.file (seq);
create index file_job on accession.file (job_id, seq);
create index file_batch on accession.file (batch_id, seq);
create index file_status on accession.file (status, seq);
create index file_unsettled on accession.file (raw_file_hash) where status in ('DOWNLOADING', 'PROCESSING', 'DOWNLOADING_FAILED', 'PROCESSING_FAILED');
comment on table accession.file is 'One row per file that was ever discovered: its state now. Files of a deleted job stay as they were.';
comment on column accession.file.raw_file_hash is 'Its identity: SHA-256 over source and path (and size and time of modification when by_version), each after its length, in hex.';
comment on column accession.file.version is 'Number of its last event, from 1.';
comment on column accession.file.status is 'DISCOVERED, DOWNLOADING, DOWNLOADED, DOWNLOADING_FAILED, IGNORE, SKIPPED, READY, PROCESSING, PROCESSED, PROCESSING_FAILED or ABANDONED.';
comment on column accession.file.seq is 'Sequence of its discovery: the files of a job in the order of its manifest.';
comment on column accession.file.batch_id is 'The batch it belongs to; empty = none.';
comment on column accession.file.job_id is 'The job it belongs to; empty = none.';
comment on column accession.file.source is 'Where it comes from: a job''s id, or the URL of a listing.';
comment on column accession.file.path is 'Its path within the source; for a file of a job its name.';
comment on column accession.file.by_version is 'A changed remote file is a new file.';
comment on column accession.file.url is 'Where it is fetched; empty = not told.';
comment on column accession.file.listed_size is 'Bytes as told at its discovery, 0 = unknown.';
comment on column accession.file.source_modified is 'Time of modification at the source; null = unknown.';
comment on column accession.file.digest_algorithm is 'Algorithm of the depositor''s digest; empty = none given.';
comment on column accession.file.digest_value is 'The depositor''s digest; empty = none given.';
comment on column accession.file.size is 'Bytes: as told at its discovery, then as downloaded; 0 = unknown.';
comment on column accession.file.sha256 is 'SHA-256 of its content, in hex; empty = not downloaded.';
comment on column accession.file.download_attempts is 'Downloads begun since its discovery, or since an operator took it up again.';
comment on column accession.file.processing_attempts is 'Processings begun since its discovery, or since an operator took it up again.';
comment on column accession.file.download_started_at is 'When its last download began, by the log''s clock; null = none yet.';
comment on column accession.file.processing_started_at is 'When its last processing began, by the log''s clock; null = none yet.';
comment on column accession.file.failed_at is 'When an attempt last failed, by the log''s clock; null = none yet.';
comment on column accession.file.fence is 'Number of the event that began the attempt under way; 0 = none is.';
comment on column accession.file.worker is 'Worker that makes the attempt under way; empty = none is.';
comment on column accession.file.output_key is 'Where its result lies in the object store; null = no result, or the file itself is it.';
comment on column accession.file.output_sha256 is 'SHA-256 of the result, in hex.';
comment on column accession.file.output_size is 'Bytes of the result.';
comment on column accession.file.reason_class is 'Who must act: content (the depositor), system (the operators), timeout, cancelled; wait = nothing failed. Null = no reason.';
comment on column accession.file.reason_code is 'Stable word for programs, such as worker_lost.';
comment on column accession.file.reason_message is 'Why it failed, was given up, skipped or taken up again, one sentence for people.';
comment on column accession.file.reason_attempt is 'Which attempt the reason is about, from 1; 0 = not counted.';
comment on column accession.file.reason_worker is 'Worker that made that attempt; empty = not told.';
comment on column accession.file.open_failure is 'Number of the event of its last failure that no success has followed; null = none.';
comment on column accession.file.discovered_at is 'When it became known, by the log''s clock.';
comment on column accession.file.status_since is 'When it entered the state that it is in, by the log''s clock.';
comment on column accession.file.last_modified is 'When its last event was written, by the writer''s clock.';
comment on column accession.file.command_id is 'The command that wrote this version.';

create table accession.file_transition (
    raw_file_hash       text        not null,
    version             bigint      not null,
    batch_id            text        not null,
    job_id              text        not null,
    from_status         text        not null,
    to_status           text        not null,
    from_since          timestamptz,
    at                  timestamptz not null,
    seconds             double precision generated always as (greatest(extract(epoch from at - from_since), 0)) stored,
    actor               text        not null,
    worker              text        not null,
    download_attempts   bigint      not null,
    processing_attempts bigint      not null,
    size                bigint      not null,
    quarantine          text        not null,
    reason_class        text,
    reason_code         text,
    reason_message      text,
    seq                 bigint      not null,
    primary key (raw_file_hash, version)
);
comment on table accession.file_transition is 'One row per change of a file''s state: the life of each file. Times are those of the log''s clock.';
comment on column accession.file_transition.raw_file_hash is 'The file.';
comment on column accession.file_transition.version is 'Number of the event among the file''s events.';
comment on column accession.file_transition.batch_id is 'The file''s batch; empty = none.';
comment on column accession.file_transition.job_id is 'The file''s job; empty = none.';
comment on column accession.file_transition.from_status is 'State before; empty = it was discovered.';
comment on column accession.file_transition.to_status is 'State after.';
comment on column accession.file_transition.from_since is 'When it had entered the state before; null when it was discovered.';
comment on column accession.file_transition.at is 'When the log took the change.';
comment on column accession.file_transition.seconds is 'Seconds that it had been in the state before.';
comment on column accession.file_transition.actor is 'Who changed it.';
comment on column accession.file_transition.worker is 'Worker that made the attempt which began or ended here; empty = none did.';
comment on column accession.file_transition.download_attempts is 'Downloads begun, this change included.';
comment on column accession.file_transition.processing_attempts is 'Processings begun, this change included.';
comment on column accession.file_transition.size is 'Bytes as known then, 0 = unknown.';
comment on column accession.file_transition.quarantine is 'Where a damaged file was put; empty = nowhere.';
comment on column accession.file_transition.reason_class is 'Class of the reason given; null = none.';
comment on column accession.file_transition.reason_code is 'Code of the reason given.';
comment on column accession.file_transition.reason_message is 'Sentence of the reason given.';
comment on column accession.file_transition.seq is 'Sequence of the event in the log.';

create table accession.file_count (
    id                text    primary key,
    files_listed      bigint  not null,
    files_processed   bigint  not null,
    files_skipped     bigint  not null,
    files_given_up    bigint  not null,
    files_deleted     bigint  not null,
    files_in_progress bigint  not null,
    files_downloaded  bigint  not null,
    bytes_listed      bigint  not null,
    bytes_downloaded  bigint  not null,
    deleted           boolean not null
) with (fillfactor = 70);
comment on table accession.file_count is 'One row per job and one per batch: how many of its files stand where, and their bytes. files_listed = files_processed + files_skipped + files_given_up + files_deleted + files_in_progress, at every moment.';
comment on column accession.file_count.id is 'A job''s id, or a batch''s.';
comment on column accession.file_count.files_listed is 'Files that were discovered; complete when the job is estimated.';
comment on column accession.file_count.files_processed is 'Files whose result is stored.';
comment on column accession.file_count.files_skipped is 'Files that were left out, each with its reason.';
comment on column accession.file_count.files_given_up is 'Files whose attempts are used up: IGNORE or ABANDONED.';
comment on column accession.file_count.files_deleted is 'Files of deleted jobs, wherever they stood.';
comment on column accession.file_count.files_in_progress is 'All other files.';
comment on column accession.file_count.files_downloaded is 'Files that were downloaded and found valid, and not sent back since.';
comment on column accession.file_count.bytes_listed is 'Bytes of all files as far as they are known.';
comment on column accession.file_count.bytes_downloaded is 'Bytes of the files that were downloaded.';
comment on column accession.file_count.deleted is 'The job was deleted.';

-- Failed attempts of files stand beside those of jobs.
alter table accession.retry add column kind text not null default 'job';
alter table accession.retry add column raw_file_hash text not null default '';
alter table accession.retry add column number bigint not null default 0;
update accession.retry set number = attempt;
alter table accession.retry drop constraint retry_pkey;
alter table accession.retry add primary key (job_id, raw_file_hash, number);
create index retry_file on accession.retry (raw_file_hash, number) where kind = 'file';
comment on table accession.retry is 'One row per failed attempt of a job or a file. Success erases nothing: earlier attempts stay.';
comment on column accession.retry.kind is 'What failed: job or file.';
comment on column accession.retry.raw_file_hash is 'The file; empty = the job itself failed.';
comment on column accession.retry.number is 'Distinguishes the failures of one job or file: for a job the attempt, for a file the number of its event.';
comment on column accession.retry.job_id is 'The job, or the file''s job; empty = the file has none.';
comment on column accession.retry.attempt is 'Which attempt failed, from 1. A requeue of a job begins its next one; an operator who takes a file up again lets it count from 1.';
comment on column accession.retry.batch_id is 'The batch of the job or file.';
comment on column accession.retry.resumed_at is 'When it was requeued, or the next attempt of the file was allowed; null = not yet.';
comment on column accession.retry.resumed_by is 'Who did that.';
comment on column accession.retry.outcome is 'What became of it: open (not decided yet), succeeded (a later attempt did), failed_again, given_up (of a file: no attempt was left), deleted (the job was deleted), abandoned (its batch was deleted).';
