-- Servers that have asked not to be asked for a while.

-- +goose Up
create table record.host_pause (
    host     text        not null primary key,
    until_at timestamptz not null
);
comment on table record.host_pause is 'One row per server of open directories that has asked to be left alone for a while (Retry-After).';
comment on column record.host_pause.host is 'Name and port of the server, as in the URLs of its files.';
comment on column record.host_pause.until_at is 'Until when no directory of it is polled and no file without a job fetched, by the clock of PostgreSQL.';

alter table record.discovery add column asked_at timestamptz;
comment on column record.discovery.asked_at is 'When an operator last asked for a poll; later than begun_at = the next one is made for that.';
