-- What is known of the listings of directories below those that are polled.

-- +goose Up
create table record.directory_page (
    discovery text   not null,
    path      text   not null,
    version   bigint not null,
    url       text   not null,
    etag      text   not null default '',
    modified  timestamptz,
    files     bigint not null,
    left_out  jsonb  not null,
    below     jsonb  not null,
    primary key (discovery, path)
);
comment on table record.directory_page is 'One row per listing of a directory that is polled with those below it, as of the last complete poll: it need not be read again while its server says that it is the same.';
comment on column record.directory_page.discovery is 'Name of the discovery.';
comment on column record.directory_page.path is 'Path below the directory that is polled, with a slash at its end; empty = that directory.';
comment on column record.directory_page.version is 'Version of the setting of the discovery by whose rules it was read.';
comment on column record.directory_page.url is 'Where it is.';
comment on column record.directory_page.etag is 'ETag of the listing, for the next request.';
comment on column record.directory_page.modified is 'When the listing was modified as its server says, for the next request.';
comment on column record.directory_page.files is 'Files in it that the rules left.';
comment on column record.directory_page.left_out is 'How many files and links were left out, by rule.';
comment on column record.directory_page.below is 'The directories in it: name and url of each.';
