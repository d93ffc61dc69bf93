-- A request over HTTP that is repeated under its key has its effect once: a report that is sent
-- again is one mail, and users and their keys are changed once.

-- +goose Up
alter table record.delivery add column commands text[] not null default '{}';
comment on column record.delivery.commands is 'Ids of the operators'' commands that asked for it to be sent again, as far as they have one: each repetition of such a command is this mail.';

create table record.people_command (
    id             text        primary key,
    request_sha256 text        not null,
    subject        text        not null,
    given_at       timestamptz not null
);
comment on table record.people_command is 'One row per change of users, rights and keys that was requested under a key, so that it is made once.';
comment on column record.people_command.id is 'Id of the command, made of who asks, for what, and the key of the request.';
comment on column record.people_command.request_sha256 is 'SHA-256 of what is requested, in hex: another request under the same key is refused. No password is in it.';
comment on column record.people_command.subject is 'What was changed, such as user/ana, or key/ and the prefix of the API key that was made.';
comment on column record.people_command.given_at is 'When it was changed.';
