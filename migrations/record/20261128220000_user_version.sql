-- The version of a user, so that a change can name the one that it is of.

-- +goose Up
alter table record.user add column version bigint not null default 1;
comment on column record.user.version is 'Raised by every change of the user, its rights or its password; the first is 1.';

-- +goose Down
alter table record.user drop column version;
