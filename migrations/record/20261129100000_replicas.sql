-- The copies of stored versions that profiles want in other stores.

-- +goose Up
create table record.replica (
    primary_identifier text        not null,
    version            bigint      not null,
    location           text        not null,
    job_id             text        not null,
    profile_name       text        not null,
    manifest_key       text        not null,
    manifest_sha256    text        not null,
    state              text        not null default 'pending' check (state in ('pending', 'stored')),
    since              timestamptz not null default clock_timestamp(),
    attempts           bigint      not null default 0,
    next_at            timestamptz not null default clock_timestamp(),
    error              text        not null default '',
    primary key (primary_identifier, version, location)
);
create index replica_pending on record.replica (next_at) where state = 'pending';
create index replica_job on record.replica (job_id);
comment on table record.replica is 'One row per stored version and store that its profile names as a replica.';
comment on column record.replica.primary_identifier is 'The object.';
comment on column record.replica.version is 'Version of the object.';
comment on column record.replica.location is 'URL of the store, as in the profile.';
comment on column record.replica.job_id is 'The job that stored the version.';
comment on column record.replica.profile_name is 'Its profile.';
comment on column record.replica.manifest_key is 'Where the storage manifest of the version is, in either store.';
comment on column record.replica.manifest_sha256 is 'Its SHA-256.';
comment on column record.replica.state is 'pending (there is no complete copy yet) or stored (every byte was compared after it was written).';
comment on column record.replica.since is 'Since when it is in this state.';
comment on column record.replica.attempts is 'How often a copy was tried.';
comment on column record.replica.next_at is 'Of a pending copy: before this it is not tried again.';
comment on column record.replica.error is 'Why the last attempt failed; empty = it did not.';
