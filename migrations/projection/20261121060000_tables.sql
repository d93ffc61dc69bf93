-- The read models that follow from the log. Nothing here is the truth: all of it
-- can be dropped and folded again. Names and comments are the contract with
-- people who write SQL; a column has the word that the events and the ZooKeeper
-- nodes use, unless SQL reserves it (primary → primary_identifier, row →
-- manifest_row, from/to → from_status/to_status).

-- +goose Up
create schema if not exists accession;
comment on schema accession is 'Read models that follow from the event log. They may be dropped and rebuilt at any time: never write here.';

create table accession.event (
    epoch         bigint      not null,
    seq           bigint      not null,
    id            text        not null,
    type          text        not null,
    kind          text        not null,
    aggregate_id  text        not null,
    version       bigint      not null,
    batch_id      text        not null,
    actor         text        not null,
    command_id    text        not null,
    causation_id  text        not null,
    trace_parent  text        not null,
    zxid          bigint      not null,
    time          timestamptz not null,
    stored        timestamptz not null,
    data          jsonb       not null,
    primary key (epoch, seq)
) partition by range (seq);
create index event_aggregate on accession.event (aggregate_id, version);
create index event_batch on accession.event (batch_id, seq);
comment on table accession.event is 'One row per event, as it stands in the log: everything that ever happened, by whom, in order.';
comment on column accession.event.epoch is 'Counts how often the live tree was restored, from 1.';
comment on column accession.event.seq is 'Sequence in the log; the order in which events were applied.';
comment on column accession.event.id is 'KIND/ID/VERSION, such as job/jid0000000042/3; unique within an epoch.';
comment on column accession.event.type is 'What happened, such as job.accepted.';
comment on column accession.event.kind is 'Sort of aggregate: batch, job, file or setting.';
comment on column accession.event.aggregate_id is 'Whose event it is, such as jid0000000042.';
comment on column accession.event.version is 'Number among the events of its aggregate, from 1 without holes.';
comment on column accession.event.batch_id is 'The batch it belongs to; empty for a setting.';
comment on column accession.event.actor is 'Who caused it: daemon/NAME, user/NAME or api/NAME.';
comment on column accession.event.command_id is 'The command that caused it, the same on every retry of that command.';
comment on column accession.event.causation_id is 'Id of the event that its writer reacted to; empty = none.';
comment on column accession.event.trace_parent is 'W3C trace context; empty = none.';
comment on column accession.event.zxid is 'ZooKeeper''s commit number: the order over all aggregates.';
comment on column accession.event.time is 'The writer''s clock, to the millisecond.';
comment on column accession.event.stored is 'When the log took it, by the log''s clock.';
comment on column accession.event.data is 'The event''s data, as its JSON Schema says.';

create table accession.event_default partition of accession.event default;
comment on table accession.event_default is 'Events for whose range no partition was made in time; normally empty.';

create table accession.batch (
    id               text        primary key,
    version          bigint      not null,
    status           text        not null,
    last_modified    timestamptz,
    command_id       text        not null,
    profile_name     text        not null,
    submitter        text        not null,
    payload_url      text        not null,
    erc_what         text        not null,
    erc_who          text        not null,
    erc_when         text        not null,
    erc_where        text        not null,
    type             text        not null,
    submission_mode  text        not null,
    digest_algorithm text        not null,
    digest_value     text        not null,
    file_name        text        not null,
    size             bigint      not null,
    rows_listed      bigint,
    first_jid        text,
    manifest_url     text,
    manifest_sha256  text,
    reason_class     text,
    reason_code      text,
    reason_message   text,
    reason_attempt   bigint,
    reason_worker    text,
    report           jsonb,
    reports          bigint      not null,
    submitted_at     timestamptz,
    listed_at        timestamptz,
    started_at       timestamptz,
    reporting_at     timestamptz,
    reported_at      timestamptz,
    deleted_at       timestamptz,
    jobs_created     bigint      not null,
    jobs_processing  bigint      not null,
    jobs_held        bigint      not null,
    jobs_failed      bigint      not null,
    jobs_completed   bigint      not null,
    jobs_deleted     bigint      not null,
    jobs_in_progress bigint      not null generated always as (jobs_processing + coalesce(greatest(rows_listed - jobs_created, 0), 0)) stored
) with (fillfactor = 80);
create index batch_status on accession.batch (status, id);
create index batch_submitter on accession.batch (submitter, id);
comment on table accession.batch is 'One row per batch: its state now, its timings, and how many of its jobs stand where. rows_listed = jobs_completed + jobs_failed + jobs_held + jobs_deleted + jobs_in_progress, at every moment from its listing on.';
comment on column accession.batch.id is 'Batch id: bid and ten digits.';
comment on column accession.batch.version is 'Number of its last event, from 1. 0 = events of its jobs were seen before its own: not yet to be shown.';
comment on column accession.batch.status is 'pending, held, processing, reporting, completed, failed, update-reporting or deleted.';
comment on column accession.batch.last_modified is 'When its last event was written.';
comment on column accession.batch.command_id is 'The command that wrote this version.';
comment on column accession.batch.profile_name is 'Profile that the depositor named.';
comment on column accession.batch.submitter is 'Who deposited it.';
comment on column accession.batch.payload_url is 'Where the payload was taken from.';
comment on column accession.batch.erc_what is 'Title, as the depositor gave it.';
comment on column accession.batch.erc_who is 'Creator, as the depositor gave it.';
comment on column accession.batch.erc_when is 'Date, as the depositor gave it.';
comment on column accession.batch.erc_where is 'Identifier, as the depositor gave it.';
comment on column accession.batch.type is 'Kind of submission: file, container, object_manifest, batch_manifest, container_batch_manifest or file_batch_manifest.';
comment on column accession.batch.submission_mode is 'add or update.';
comment on column accession.batch.digest_algorithm is 'Algorithm of the depositor''s digest of the payload; empty = none given.';
comment on column accession.batch.digest_value is 'The depositor''s digest of the payload; empty = none given.';
comment on column accession.batch.file_name is 'File name of the payload; empty = none given.';
comment on column accession.batch.size is 'Size of the payload in bytes as the depositor gave it, 0 = unknown.';
comment on column accession.batch.rows_listed is 'How many jobs its payload lists; null until it was read, 0 when it could not be. From then on the batch adds up.';
comment on column accession.batch.first_jid is 'Id of the job of its first row; the others follow without gap.';
comment on column accession.batch.manifest_url is 'The copy of the manifest that was listed.';
comment on column accession.batch.manifest_sha256 is 'SHA-256 of that copy, in hex.';
comment on column accession.batch.reason_class is 'Who must act: content (the depositor), system (the operators), timeout, cancelled; wait = nothing failed. Null = no reason.';
comment on column accession.batch.reason_code is 'Stable word for programs, such as manifest_invalid.';
comment on column accession.batch.reason_message is 'Why it failed or waits, one sentence for people.';
comment on column accession.batch.reason_attempt is 'Which attempt the reason is about, from 1; 0 = not counted.';
comment on column accession.batch.reason_worker is 'Worker that made that attempt; empty = not told.';
comment on column accession.batch.report is 'The last report that was made, as in its event; null = none yet.';
comment on column accession.batch.reports is 'How many reports were made.';
comment on column accession.batch.submitted_at is 'When the deposit was accepted.';
comment on column accession.batch.listed_at is 'When its number of jobs was settled.';
comment on column accession.batch.started_at is 'When all its jobs existed.';
comment on column accession.batch.reporting_at is 'When a report was last begun.';
comment on column accession.batch.reported_at is 'When a report was last made.';
comment on column accession.batch.deleted_at is 'When it was deleted or cleaned up.';
comment on column accession.batch.jobs_created is 'Jobs made so far.';
comment on column accession.batch.jobs_processing is 'Jobs that exist and are under way (from pending to notify).';
comment on column accession.batch.jobs_held is 'Jobs that wait behind a hold.';
comment on column accession.batch.jobs_failed is 'Jobs that failed.';
comment on column accession.batch.jobs_completed is 'Jobs that completed; those of a batch cleaned up after its retention time stay counted.';
comment on column accession.batch.jobs_deleted is 'Jobs that were deleted.';
comment on column accession.batch.jobs_in_progress is 'Jobs under way, and rows whose job is still to be made.';

create table accession.job (
    id                     text        primary key,
    version                bigint      not null,
    batch_id               text        not null,
    status                 text        not null,
    last_successful_status text,
    last_modified          timestamptz,
    retry_count            bigint      not null,
    priority               bigint      not null,
    space_needed           bigint      not null,
    command_id             text        not null,
    cleaned                boolean     not null,
    profile_name           text        not null,
    submitter              text        not null,
    payload_url            text        not null,
    payload_type           text        not null,
    response_type          text        not null,
    submission_mode        text        not null,
    working_dir            text        not null,
    digest_algorithm       text        not null,
    digest_value           text        not null,
    file_name              text        not null,
    size                   bigint      not null,
    manifest_row           bigint      not null,
    row_fault              jsonb,
    primary_identifier     text        not null,
    local_id               text[],
    erc_who                text        not null,
    erc_what               text        not null,
    erc_when               text        not null,
    erc_where              text        not null,
    reason_class           text,
    reason_code            text,
    reason_message         text,
    reason_attempt         bigint,
    reason_worker          text,
    created_at             timestamptz,
    status_since           timestamptz,
    completed_at           timestamptz,
    files                  bigint,
    bytes                  bigint,
    identifier_minted      boolean,
    object_version         bigint,
    manifest_key           text,
    manifest_sha256        text,
    callback               text
) with (fillfactor = 80);
create index job_batch on accession.job (batch_id, manifest_row, id);
create index job_status on accession.job (status, id);
create index job_primary_identifier on accession.job (primary_identifier) where primary_identifier <> '';
comment on table accession.job is 'One row per job: its state now. A deleted job stays, with status deleted.';
comment on column accession.job.id is 'Job id: jid and ten digits.';
comment on column accession.job.version is 'Number of its last event, from 1.';
comment on column accession.job.batch_id is 'The batch it belongs to.';
comment on column accession.job.status is 'pending, held, estimating, provisioning, downloading, processing, recording, notify, failed, completed or deleted.';
comment on column accession.job.last_successful_status is 'The last state that it left successfully; null = none yet. A requeue goes on after it.';
comment on column accession.job.last_modified is 'When its last event was written.';
comment on column accession.job.retry_count is 'How often it was requeued after a failure.';
comment on column accession.job.priority is '0 to 99; lower runs first.';
comment on column accession.job.space_needed is 'Working space in bytes, 0 = unknown.';
comment on column accession.job.command_id is 'The command that wrote this version.';
comment on column accession.job.cleaned is 'Completed and out of its queue; its working directory is gone.';
comment on column accession.job.profile_name is 'Profile of its batch.';
comment on column accession.job.submitter is 'Who deposited it.';
comment on column accession.job.payload_url is 'What it fetches.';
comment on column accession.job.payload_type is 'What that is: file, container or object_manifest.';
comment on column accession.job.response_type is 'Form of the callback: json, xml or html.';
comment on column accession.job.submission_mode is 'add or update.';
comment on column accession.job.working_dir is 'Its directory below the working space.';
comment on column accession.job.digest_algorithm is 'Algorithm of the depositor''s digest of the payload; empty = none given.';
comment on column accession.job.digest_value is 'The depositor''s digest of the payload; empty = none given.';
comment on column accession.job.file_name is 'File name of the payload; empty = none given.';
comment on column accession.job.size is 'Size of the payload in bytes as the depositor gave it, 0 = unknown.';
comment on column accession.job.manifest_row is 'Row of the batch manifest that it was made from, from 0.';
comment on column accession.job.row_fault is 'What is wrong with that row; null = nothing.';
comment on column accession.job.primary_identifier is 'The object''s identifier, such as an ARK; empty until it is known.';
comment on column accession.job.local_id is 'The depositor''s own identifiers of the object.';
comment on column accession.job.erc_who is 'Creator of the object.';
comment on column accession.job.erc_what is 'Title of the object.';
comment on column accession.job.erc_when is 'Date of the object.';
comment on column accession.job.erc_where is 'Identifier of the object in its citation.';
comment on column accession.job.reason_class is 'Who must act: content (the depositor), system (the operators), timeout, cancelled; wait = nothing failed. Null = no reason.';
comment on column accession.job.reason_code is 'Stable word for programs, such as digest_mismatch.';
comment on column accession.job.reason_message is 'Why it failed or waits, one sentence for people.';
comment on column accession.job.reason_attempt is 'Which attempt the reason is about, from 1; 0 = not counted.';
comment on column accession.job.reason_worker is 'Worker that made that attempt; empty = not told.';
comment on column accession.job.created_at is 'When it was made from its batch.';
comment on column accession.job.status_since is 'When it entered the state that it is in.';
comment on column accession.job.completed_at is 'When it completed; null = not completed.';
comment on column accession.job.files is 'How many files it has; null until it was estimated.';
comment on column accession.job.bytes is 'Bytes of those files whose size is known.';
comment on column accession.job.identifier_minted is 'True when the identifier was minted here, false when it was given or found; null until it is known.';
comment on column accession.job.object_version is 'Version of the object that it stored, from 1; null until then.';
comment on column accession.job.manifest_key is 'Key of the storage manifest of that version in the object store.';
comment on column accession.job.manifest_sha256 is 'SHA-256 of that storage manifest, in hex.';
comment on column accession.job.callback is 'Fate of the callback: none or delivered; null until it completed.';

create table accession.job_transition (
    job_id       text        not null,
    version      bigint      not null,
    batch_id     text        not null,
    from_status  text        not null,
    to_status    text        not null,
    from_since   timestamptz,
    at           timestamptz not null,
    seconds      double precision generated always as (greatest(extract(epoch from at - from_since), 0)) stored,
    actor        text        not null,
    retry_count  bigint      not null,
    reason_class text,
    reason_code  text,
    reason_message text,
    seq          bigint      not null,
    primary key (job_id, version)
);
comment on table accession.job_transition is 'One row per change of a job''s state: time spent in each state, and by whom it was ended.';
comment on column accession.job_transition.job_id is 'The job.';
comment on column accession.job_transition.version is 'Number of the event among the job''s events.';
comment on column accession.job_transition.batch_id is 'The job''s batch.';
comment on column accession.job_transition.from_status is 'State before; empty = the job was made.';
comment on column accession.job_transition.to_status is 'State after.';
comment on column accession.job_transition.from_since is 'When it had entered the state before; null when it was made.';
comment on column accession.job_transition.at is 'When it changed, by the writer''s clock.';
comment on column accession.job_transition.seconds is 'Seconds that it had been in the state before. Never negative, though clocks of two writers may differ.';
comment on column accession.job_transition.actor is 'Who changed it.';
comment on column accession.job_transition.retry_count is 'How often it had been requeued, this change included.';
comment on column accession.job_transition.reason_class is 'Class of the reason given; null = none.';
comment on column accession.job_transition.reason_code is 'Code of the reason given.';
comment on column accession.job_transition.reason_message is 'Sentence of the reason given.';
comment on column accession.job_transition.seq is 'Sequence of the event in the log.';

create table accession.retry (
    job_id     text        not null,
    attempt    bigint      not null,
    batch_id   text        not null,
    status     text        not null,
    class      text        not null,
    code       text        not null,
    message    text        not null,
    worker     text        not null,
    failed_at  timestamptz not null,
    resumed_at timestamptz,
    resumed_by text,
    resumed_to text,
    outcome    text        not null,
    primary key (job_id, attempt)
);
create index retry_batch on accession.retry (batch_id, job_id, attempt);
create index retry_open on accession.retry (failed_at) where outcome = 'open';
comment on table accession.retry is 'One row per failed attempt of a job. Success erases nothing: earlier attempts stay.';
comment on column accession.retry.job_id is 'The job.';
comment on column accession.retry.attempt is 'Which attempt failed, from 1; each requeue begins the next one.';
comment on column accession.retry.batch_id is 'The job''s batch.';
comment on column accession.retry.status is 'The state that it failed in.';
comment on column accession.retry.class is 'Who must act: content (the depositor), system (the operators), timeout or cancelled.';
comment on column accession.retry.code is 'Stable word for programs, such as digest_mismatch.';
comment on column accession.retry.message is 'Why it failed, one sentence for people.';
comment on column accession.retry.worker is 'Worker that made the attempt; empty = not told.';
comment on column accession.retry.failed_at is 'When it failed.';
comment on column accession.retry.resumed_at is 'When it was requeued; null = not yet.';
comment on column accession.retry.resumed_by is 'Who requeued it.';
comment on column accession.retry.resumed_to is 'The state that it went on from.';
comment on column accession.retry.outcome is 'What became of it: open (not decided yet), succeeded (the next attempt completed the job), failed_again, deleted (the job was deleted), abandoned (its batch was deleted).';

create table accession.batch_report (
    batch_id              text        not null,
    report                bigint      not null,
    version               bigint      not null,
    kind                  text        not null,
    status                text        not null,
    successful            bigint      not null,
    failed                bigint      not null,
    newly_successful      bigint      not null,
    successful_jobs       text[]      not null,
    failed_jobs           text[]      not null,
    newly_successful_jobs text[]      not null,
    unresolved_jobs       text[]      not null,
    truncated             boolean     not null,
    report_url            text        not null,
    report_sha256         text        not null,
    reason_class          text,
    reason_code           text,
    reason_message        text,
    reported_at           timestamptz not null,
    seq                   bigint      not null,
    primary key (batch_id, report)
);
comment on table accession.batch_report is 'One row per report that was made about a batch.';
comment on column accession.batch_report.batch_id is 'The batch.';
comment on column accession.batch_report.report is 'Which report of the batch, from 1.';
comment on column accession.batch_report.version is 'Number of the event among the batch''s events.';
comment on column accession.batch_report.kind is 'first, or update for one that an operator asked for later.';
comment on column accession.batch_report.status is 'What the batch became by it: completed or failed.';
comment on column accession.batch_report.successful is 'How many jobs had completed.';
comment on column accession.batch_report.failed is 'How many jobs had failed.';
comment on column accession.batch_report.newly_successful is 'How many of the listed jobs completed since the report before; 0 in a first report.';
comment on column accession.batch_report.successful_jobs is 'Ids of the jobs that had completed; cut when truncated.';
comment on column accession.batch_report.failed_jobs is 'Ids of the jobs that had failed; cut when truncated.';
comment on column accession.batch_report.newly_successful_jobs is 'Ids of the jobs that completed since the report before; empty in a first report.';
comment on column accession.batch_report.unresolved_jobs is 'Ids of the jobs that are still failed; empty in a first report.';
comment on column accession.batch_report.truncated is 'The lists are cut; the whole report is at report_url.';
comment on column accession.batch_report.report_url is 'Where the whole report is; empty when it is not truncated.';
comment on column accession.batch_report.report_sha256 is 'SHA-256 of the whole report, in hex.';
comment on column accession.batch_report.reason_class is 'Class of what was wrong with the batch itself, such as a bad manifest; null = nothing.';
comment on column accession.batch_report.reason_code is 'Its code.';
comment on column accession.batch_report.reason_message is 'Its sentence.';
comment on column accession.batch_report.reported_at is 'When the report was made.';
comment on column accession.batch_report.seq is 'Sequence of the event in the log.';

create table accession.setting (
    kind       text        not null,
    name       text        not null,
    version    bigint      not null,
    status     text        not null,
    held_by    text,
    held_when  timestamptz,
    held_why   text,
    why        text        not null,
    changed_at timestamptz not null,
    changed_by text        not null,
    primary key (kind, name)
);
comment on table accession.setting is 'One row per hold or pause that was ever set: how it stands now, and by whom.';
comment on column accession.setting.kind is 'collection (its batches and jobs wait in held) or queue (nothing is claimed there).';
comment on column accession.setting.name is 'Name of the collection; for a queue ingest or a job state.';
comment on column accession.setting.version is 'Number of its last event, from 1.';
comment on column accession.setting.status is 'held or open.';
comment on column accession.setting.held_by is 'Who set the hold; null = it is lifted.';
comment on column accession.setting.held_when is 'When it was set.';
comment on column accession.setting.held_why is 'Why it was set.';
comment on column accession.setting.why is 'Why it was changed last; empty = not told.';
comment on column accession.setting.changed_at is 'When it was changed last.';
comment on column accession.setting.changed_by is 'Who changed it last.';

create table accession.checkpoint (
    name            text        primary key,
    stream          text        not null,
    stream_created  timestamptz not null,
    seq             bigint      not null,
    epoch           bigint      not null,
    last_event_id   text        not null,
    last_command_id text        not null,
    last_stored     timestamptz,
    updated_at      timestamptz not null
);
comment on table accession.checkpoint is 'How far each projection has applied the log. It moves in the same transaction as the rows that it covers.';
comment on column accession.checkpoint.name is 'Name of the projection.';
comment on column accession.checkpoint.stream is 'Name of the stream that it reads.';
comment on column accession.checkpoint.stream_created is 'When that stream was created; name and time together identify it.';
comment on column accession.checkpoint.seq is 'Sequence of the last event applied, 0 = none yet.';
comment on column accession.checkpoint.epoch is 'Epoch of that event.';
comment on column accession.checkpoint.last_event_id is 'Id of that event: another one with its sequence means that the stream lost its tail.';
comment on column accession.checkpoint.last_command_id is 'Command of that event.';
comment on column accession.checkpoint.last_stored is 'When the log took that event.';
comment on column accession.checkpoint.updated_at is 'When the checkpoint last moved, by the clock of PostgreSQL.';

create table accession.poison_event (
    name         text        not null,
    seq          bigint      not null,
    epoch        bigint      not null,
    id           text        not null,
    type         text        not null,
    kind         text        not null,
    aggregate_id text        not null,
    data         jsonb,
    error        text        not null,
    attempts     bigint      not null,
    first_seen   timestamptz not null,
    last_seen    timestamptz not null,
    primary key (name, seq)
);
comment on table accession.poison_event is 'Events that a projection could not apply. Only their aggregates wait; everything else goes on.';
comment on column accession.poison_event.name is 'Name of the projection.';
comment on column accession.poison_event.seq is 'Sequence of the event in the log.';
comment on column accession.poison_event.epoch is 'Epoch of the event.';
comment on column accession.poison_event.id is 'Id of the event.';
comment on column accession.poison_event.type is 'Type of the event.';
comment on column accession.poison_event.kind is 'Sort of aggregate that waits.';
comment on column accession.poison_event.aggregate_id is 'The aggregate that waits.';
comment on column accession.poison_event.data is 'The event''s data; null when it could not be read.';
comment on column accession.poison_event.error is 'Why it could not be applied.';
comment on column accession.poison_event.attempts is 'How often it was tried.';
comment on column accession.poison_event.first_seen is 'When it was first tried.';
comment on column accession.poison_event.last_seen is 'When it was last tried.';
