-- Who is who: identifiers that were given to objects, the depositors' own names
-- for them, and the versions that jobs may write. All of it is reserved before it
-- is used, so that a job that starts over finds what it had.

-- +goose Up
create schema if not exists record;
comment on schema record is 'What Accession keeps for itself and no event log could rebuild: back it up.';

create table record.identifier (
    job_id      text        primary key,
    name        text        not null unique,
    state       text        not null check (state in ('intent', 'done')),
    reserved_at timestamptz not null default clock_timestamp(),
    done_at     timestamptz
);
comment on table record.identifier is 'One row per identifier reserved for a job, before it is asked for or used.';
comment on column record.identifier.job_id is 'The job; it has one identifier at most.';
comment on column record.identifier.name is 'The identifier, such as an ARK.';
comment on column record.identifier.state is 'intent (reserved, not known to exist yet) or done (it exists).';
comment on column record.identifier.reserved_at is 'When it was reserved.';
comment on column record.identifier.done_at is 'When it was known to exist.';

create table record.local_id (
    owner              text        not null,
    local_id           text        not null,
    primary_identifier text        not null,
    job_id             text        not null,
    bound_at           timestamptz not null default clock_timestamp(),
    primary key (owner, local_id)
);
create index local_id_primary on record.local_id (primary_identifier);
comment on table record.local_id is 'One row per name that a depositor has for an object: it leads to one object for ever.';
comment on column record.local_id.owner is 'Whose name it is; two owners may use the same one.';
comment on column record.local_id.local_id is 'The depositor''s name for the object.';
comment on column record.local_id.primary_identifier is 'The object''s identifier.';
comment on column record.local_id.job_id is 'The job that bound them.';
comment on column record.local_id.bound_at is 'When they were bound.';

create table record.version_reservation (
    job_id             text        primary key,
    primary_identifier text        not null,
    version            bigint      not null check (version > 0),
    reserved_at        timestamptz not null default clock_timestamp(),
    unique (primary_identifier, version)
);
comment on table record.version_reservation is 'One row per job that may write a version of an object. A job that never wrote leaves a gap in the object''s versions.';
comment on column record.version_reservation.job_id is 'The job.';
comment on column record.version_reservation.primary_identifier is 'The object.';
comment on column record.version_reservation.version is 'The version that this job alone may write, from 1.';
comment on column record.version_reservation.reserved_at is 'When it was reserved.';
