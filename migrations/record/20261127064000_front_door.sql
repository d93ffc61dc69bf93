-- A request to send a report again that is repeated under its key is one mail.

-- +goose Up
alter table record.delivery add column commands text[] not null default '{}';
comment on column record.delivery.commands is 'Ids of the operators'' commands that asked for it to be sent again, as far as they have one: each repetition of such a command is this mail.';
