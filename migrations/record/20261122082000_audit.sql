-- What the auditor has read, and what it found corrupt.

-- +goose Up
create table record.audit (
    name      text        primary key,
    begun_at  timestamptz not null default clock_timestamp(),
    ended_at  timestamptz,
    last_at   timestamptz not null default clock_timestamp(),
    position  text        not null default '',
    objects   bigint      not null default 0,
    files     bigint      not null default 0,
    bytes     bigint      not null default 0,
    findings  bigint      not null default 0
);
comment on table record.audit is 'One row: how far the auditor is, which reads all stored objects from time to time.';
comment on column record.audit.name is 'What is audited: objects.';
comment on column record.audit.begun_at is 'When the pass under way began, or the last one.';
comment on column record.audit.ended_at is 'When the last pass ended; null = a pass is under way.';
comment on column record.audit.last_at is 'When a complete pass ended last; before the first one, when the auditor was first started.';
comment on column record.audit.position is 'The last object that this pass has compared, with all those before it; empty = none.';
comment on column record.audit.objects is 'Stored versions that this pass has compared.';
comment on column record.audit.files is 'Stored files that it has read.';
comment on column record.audit.bytes is 'Bytes that it has read.';
comment on column record.audit.findings is 'Differences that it has found.';

create table record.corrupt_file (
    primary_identifier text        not null,
    version            bigint      not null,
    kind               text        not null,
    name               text        not null,
    key                text        not null,
    job_id             text        not null,
    code               text        not null,
    found              text        not null,
    state              text        not null check (state in ('found', 'given_up', 'sound')),
    found_at           timestamptz not null default clock_timestamp(),
    settled_at         timestamptz,
    primary key (primary_identifier, version, kind, name)
);
create index corrupt_file_job on record.corrupt_file (job_id) where state <> 'sound';
comment on table record.corrupt_file is 'One row per stored file that the auditor has found missing or changed.';
comment on column record.corrupt_file.primary_identifier is 'The object.';
comment on column record.corrupt_file.version is 'Version of the object.';
comment on column record.corrupt_file.kind is 'producer, system, or manifest for the storage manifest.';
comment on column record.corrupt_file.name is 'Name of the file within the object.';
comment on column record.corrupt_file.key is 'Where it should be in the object store.';
comment on column record.corrupt_file.job_id is 'The job that stored it.';
comment on column record.corrupt_file.code is 'What is wrong, as accession verify calls it, such as stored_corrupt.';
comment on column record.corrupt_file.found is 'What is stored instead.';
comment on column record.corrupt_file.state is 'found, given_up (the history of the file says so) or sound (a sound copy was put back).';
comment on column record.corrupt_file.found_at is 'When it was found: since then at the latest it is corrupt.';
comment on column record.corrupt_file.settled_at is 'When it was given up or found sound again.';
