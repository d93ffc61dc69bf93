-- Deposits of the groups of datasets.

-- +goose Up
create table record.group_deposit (
    dataset    text        not null,
    group_name text        not null,
    discovery  text        not null,
    waits      text        not null default '',
    waits_at   timestamptz not null default clock_timestamp(),
    cause      text        not null default '',
    profile    text        not null default '',
    submitter  text        not null default '',
    type       text        not null default '',
    manifest   text        not null default '',
    decided_at timestamptz,
    batch_id   text        not null default '',
    ended_at   timestamptz,
    primary key (dataset, group_name)
);
create index on record.group_deposit (dataset) where decided_at is not null and ended_at is null;
comment on table record.group_deposit is 'One row per group of a dataset whose groups become deposits.';
comment on column record.group_deposit.dataset is 'The dataset.';
comment on column record.group_deposit.group_name is 'The group.';
comment on column record.group_deposit.discovery is 'Discovery whose setting says what becomes of the group.';
comment on column record.group_deposit.waits is 'What it waits for; empty = for nothing. Once it is decided: why its batch could not be made yet.';
comment on column record.group_deposit.waits_at is 'Since when it waits for this.';
comment on column record.group_deposit.cause is 'Why it was complete: slot, marker, files or quiet; empty = it waits.';
comment on column record.group_deposit.profile is 'Profile of its batch.';
comment on column record.group_deposit.submitter is 'Submitter of its batch.';
comment on column record.group_deposit.type is 'Type of its batch: object_manifest, or file_batch_manifest.';
comment on column record.group_deposit.manifest is 'What is deposited: the manifest of its files.';
comment on column record.group_deposit.decided_at is 'When it was found complete; what comes later is late. null = it waits.';
comment on column record.group_deposit.batch_id is 'Its batch; empty = it is not made yet.';
comment on column record.group_deposit.ended_at is 'When its batch and its files were brought to their end; null = not yet.';

create table record.group_file (
    dataset       text not null,
    group_name    text not null,
    raw_file_hash text not null,
    path          text not null,
    part          text not null,
    primary key (dataset, group_name, raw_file_hash)
);
create index on record.group_file (raw_file_hash);
comment on table record.group_file is 'One row per file of a group that was known when the group was found complete.';
comment on column record.group_file.dataset is 'The dataset.';
comment on column record.group_file.group_name is 'The group.';
comment on column record.group_file.raw_file_hash is 'The file.';
comment on column record.group_file.path is 'Path below the directory.';
comment on column record.group_file.part is 'deposited; marker: it said that the group was complete; missing: it was given up, gone or changed; excluded: it was skipped, or replaced by another version.';

-- +goose Down
drop table record.group_file;
drop table record.group_deposit;
