-- What the polls of open directories found.

-- +goose Up
create table record.discovery (
    name           text        not null primary key,
    version        bigint      not null default 0,
    url            text        not null default '',
    next_at        timestamptz not null default clock_timestamp(),
    begun_at       timestamptz,
    ended_at       timestamptz,
    complete_at    timestamptz,
    outcome        text        not null default '',
    error          text        not null default '',
    directories    bigint      not null default 0,
    files          bigint      not null default 0,
    fresh          bigint      not null default 0,
    known          bigint      not null default 0,
    changed        bigint      not null default 0,
    gone           bigint      not null default 0,
    out_by_pattern bigint      not null default 0,
    out_by_age     bigint      not null default 0,
    out_by_size    bigint      not null default 0,
    out_by_link    bigint      not null default 0,
    etag           text        not null default '',
    modified       timestamptz
);
comment on table record.discovery is 'One row per discovery: its last poll, and when the next one is.';
comment on column record.discovery.name is 'Name of the discovery.';
comment on column record.discovery.version is 'Version of its setting at the last poll.';
comment on column record.discovery.url is 'The directory that was polled.';
comment on column record.discovery.next_at is 'When it is polled next, by the clock of PostgreSQL.';
comment on column record.discovery.begun_at is 'When its last poll began; later than ended_at = it is under way, or its process died.';
comment on column record.discovery.ended_at is 'When its last poll ended.';
comment on column record.discovery.complete_at is 'When it was last read as a whole, or found unchanged.';
comment on column record.discovery.outcome is 'Of the last poll: complete, unchanged, failed or postponed.';
comment on column record.discovery.error is 'Why the last poll failed or was postponed.';
comment on column record.discovery.directories is 'Directories of the last complete poll, with the first. All further numbers are of it too.';
comment on column record.discovery.files is 'Files that the rules left.';
comment on column record.discovery.fresh is 'Those that became known.';
comment on column record.discovery.known is 'Those that were known already.';
comment on column record.discovery.changed is 'Those whose size or time was another one than before.';
comment on column record.discovery.gone is 'Files that were listed before and are no more.';
comment on column record.discovery.out_by_pattern is 'Files that were left out by their names.';
comment on column record.discovery.out_by_age is 'Files that were left out by their age.';
comment on column record.discovery.out_by_size is 'Files that were left out by their size.';
comment on column record.discovery.out_by_link is 'Links that lead elsewhere, or have a name that no file may have.';
comment on column record.discovery.etag is 'ETag of the listing, for the next request.';
comment on column record.discovery.modified is 'When the listing was modified as its server says, for the next request.';

create table record.directory_listing (
    discovery     text        not null,
    path          text        not null,
    raw_file_hash text        not null,
    url           text        not null,
    size          bigint,
    modified      timestamptz,
    first_at      timestamptz not null,
    last_at       timestamptz not null,
    changed_at    timestamptz,
    gone_at       timestamptz,
    primary key (discovery, path)
);
create index on record.directory_listing (raw_file_hash);
comment on table record.directory_listing is 'One row per file that an open directory has listed.';
comment on column record.directory_listing.discovery is 'Name of the discovery.';
comment on column record.directory_listing.path is 'Path below the directory.';
comment on column record.directory_listing.raw_file_hash is 'The file that it is known as.';
comment on column record.directory_listing.url is 'Where it is.';
comment on column record.directory_listing.size is 'Bytes as listed last; null = not said, or rounded.';
comment on column record.directory_listing.modified is 'When it was modified as listed last; null = not said.';
comment on column record.directory_listing.first_at is 'When it was first listed.';
comment on column record.directory_listing.last_at is 'When it was last listed.';
comment on column record.directory_listing.changed_at is 'When its size or time was last found changed; null = never.';
comment on column record.directory_listing.gone_at is 'Since when it is not listed; null = it is.';
