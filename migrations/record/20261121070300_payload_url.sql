-- Payload URLs with a query, which may be a secret: shown nowhere but here.

-- +goose Up
create table record.payload_url (
    digest  text        primary key,
    url     text        not null,
    kept_at timestamptz not null default clock_timestamp()
);
comment on table record.payload_url is 'One row per payload URL that has a query. Events, tables, logs and reports have its public form, which ends in ?redacted=DIGEST.';
comment on column record.payload_url.digest is 'The first 16 hex digits of the SHA-256 of the whole URL.';
comment on column record.payload_url.url is 'The whole URL, as the depositor gave it. It may hold a secret.';
comment on column record.payload_url.kept_at is 'When it was first kept.';
