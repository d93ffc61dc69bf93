-- The inventory: what is stored, file by file.

-- +goose Up
create table record.object (
    primary_identifier text        primary key,
    owner              text        not null,
    collection         text        not null,
    current_version    bigint      not null,
    erc_who            text        not null,
    erc_what           text        not null,
    erc_when           text        not null,
    local_id           text[]      not null,
    created_at         timestamptz not null default clock_timestamp(),
    modified_at        timestamptz not null default clock_timestamp()
);
create index object_collection on record.object (collection, primary_identifier);
comment on table record.object is 'One row per object.';
comment on column record.object.primary_identifier is 'The object''s identifier, such as an ARK.';
comment on column record.object.owner is 'Who owns it.';
comment on column record.object.collection is 'The collection that it belongs to.';
comment on column record.object.current_version is 'Its highest recorded version.';
comment on column record.object.erc_who is 'Creator, as of that version.';
comment on column record.object.erc_what is 'Title, as of that version.';
comment on column record.object.erc_when is 'Date, as of that version.';
comment on column record.object.local_id is 'The depositor''s names for it, as of that version.';
comment on column record.object.created_at is 'When its first version was recorded.';
comment on column record.object.modified_at is 'When its last version was recorded.';

create table record.object_version (
    primary_identifier text        not null references record.object,
    version            bigint      not null,
    job_id             text        not null unique,
    batch_id           text        not null,
    profile_name       text        not null,
    submitter          text        not null,
    manifest_key       text        not null,
    manifest_sha256    text        not null,
    files              bigint      not null,
    bytes              bigint      not null,
    stored_at          timestamptz not null,
    recorded_at        timestamptz not null default clock_timestamp(),
    primary key (primary_identifier, version)
);
create index object_version_batch on record.object_version (batch_id);
comment on table record.object_version is 'One row per stored version of an object.';
comment on column record.object_version.primary_identifier is 'The object.';
comment on column record.object_version.version is 'Version of the object, from 1.';
comment on column record.object_version.job_id is 'The job that stored it; a job stores one version at most.';
comment on column record.object_version.batch_id is 'The job''s batch.';
comment on column record.object_version.profile_name is 'Profile of the deposit.';
comment on column record.object_version.submitter is 'Who deposited it.';
comment on column record.object_version.manifest_key is 'Key of its storage manifest in the object store.';
comment on column record.object_version.manifest_sha256 is 'SHA-256 of that manifest, in hex.';
comment on column record.object_version.files is 'How many files it has.';
comment on column record.object_version.bytes is 'Sum of their sizes in bytes.';
comment on column record.object_version.stored_at is 'When its manifest was written.';
comment on column record.object_version.recorded_at is 'When it was recorded here.';

create table record.object_file (
    primary_identifier text   not null,
    version            bigint not null,
    kind               text   not null,
    name               text   not null,
    key                text   not null,
    size               bigint not null,
    sha256             text   not null,
    mime_type          text   not null,
    primary key (primary_identifier, version, kind, name),
    foreign key (primary_identifier, version) references record.object_version
);
create index object_file_sha256 on record.object_file (sha256);
comment on table record.object_file is 'One row per file of a version.';
comment on column record.object_file.primary_identifier is 'The object.';
comment on column record.object_file.version is 'Version of the object.';
comment on column record.object_file.kind is 'producer (the depositor sent it) or system (Accession made it).';
comment on column record.object_file.name is 'Name of the file within the object.';
comment on column record.object_file.key is 'Where its bytes are in the object store; an unchanged file keeps the key of an earlier version.';
comment on column record.object_file.size is 'Bytes.';
comment on column record.object_file.sha256 is 'SHA-256 of its bytes, in hex.';
comment on column record.object_file.mime_type is 'What it is, such as text/csv; empty = not known.';
