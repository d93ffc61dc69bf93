-- Mails that are kept until a mail server has taken them.

-- +goose Up
create table record.outgoing_mail (
    key             text        primary key,
    sender          text        not null,
    waiting         text[]      not null,
    taken           text[]      not null default '{}',
    refused         text[]      not null default '{}',
    content         bytea,
    kept_at         timestamptz not null default clock_timestamp(),
    attempts        bigint      not null default 0,
    next_attempt_at timestamptz not null default clock_timestamp(),
    last_error      text        not null default '',
    settled_at      timestamptz
);
create index outgoing_mail_waiting on record.outgoing_mail (next_attempt_at) where settled_at is null;
comment on table record.outgoing_mail is 'One row per mail that goes to a mail server (smtp_server): kept before the first attempt, settled when every address was taken or refused, or after the last attempt.';
comment on column record.outgoing_mail.key is 'Key of its row in record.delivery.';
comment on column record.outgoing_mail.sender is 'Address from which it comes, as the mail server is told.';
comment on column record.outgoing_mail.waiting is 'Addresses for which no mail server has taken or refused it yet.';
comment on column record.outgoing_mail.taken is 'Addresses for which a mail server has taken it.';
comment on column record.outgoing_mail.refused is 'Addresses to which it cannot be delivered, each with the words of the mail server.';
comment on column record.outgoing_mail.content is 'The mail in the form of RFC 5322; null once it is settled.';
comment on column record.outgoing_mail.kept_at is 'When it was kept.';
comment on column record.outgoing_mail.attempts is 'How often a mail server was asked to take it.';
comment on column record.outgoing_mail.next_attempt_at is 'When it is tried next.';
comment on column record.outgoing_mail.last_error is 'Why the last attempt left addresses waiting; empty = it did not.';
comment on column record.outgoing_mail.settled_at is 'When nothing of it was left to do; null = it waits.';

-- +goose Down
drop table record.outgoing_mail;
