-- What was done to the world outside: each effect is noted before and after.

-- +goose Up
create table record.effect (
    key         text        primary key,
    kind        text        not null,
    state       text        not null check (state in ('intent', 'done')),
    result      jsonb,
    begun_at    timestamptz not null default clock_timestamp(),
    begun       bigint      not null default 1,
    finished_at timestamptz
);
create index effect_open on record.effect (begun_at) where state = 'intent';
comment on table record.effect is 'One row per effect that a step has on the world outside: noted before it is made, so that the worker that starts the step over knows to look whether it happened.';
comment on column record.effect.key is 'JID/VERSION/STEP: the same whenever that step of that job is tried again.';
comment on column record.effect.kind is 'What sort of effect, such as store or callback.';
comment on column record.effect.state is 'intent (it may have happened) or done.';
comment on column record.effect.result is 'What came of it; null until it is done.';
comment on column record.effect.begun_at is 'When it was first begun.';
comment on column record.effect.begun is 'How often it was begun.';
comment on column record.effect.finished_at is 'When it was known to be done.';

create table record.delivery (
    key             text        primary key,
    channel         text        not null check (channel in ('mail', 'callback')),
    about           text        not null,
    batch_id        text        not null,
    job_id          text        not null,
    recipients      text[]      not null,
    state           text        not null check (state in ('pending', 'delivered', 'failed')),
    attempts        bigint      not null,
    last_error      text        not null,
    created_at      timestamptz not null default clock_timestamp(),
    last_attempt_at timestamptz,
    delivered_at    timestamptz
);
create index delivery_batch on record.delivery (batch_id, created_at);
create index delivery_open on record.delivery (created_at) where state <> 'delivered';
comment on table record.delivery is 'One row per message to people or programs outside: a mail or a callback. Addresses are kept here and never in events.';
comment on column record.delivery.key is 'The message''s idempotency key, the same on every attempt; receivers see it.';
comment on column record.delivery.channel is 'mail or callback.';
comment on column record.delivery.about is 'What it is about: queued, report, update or job.';
comment on column record.delivery.batch_id is 'The batch that it is about.';
comment on column record.delivery.job_id is 'The job that it is about; empty = the whole batch.';
comment on column record.delivery.recipients is 'Mail addresses or the callback''s URL.';
comment on column record.delivery.state is 'pending, delivered or failed (given up; it may be sent again).';
comment on column record.delivery.attempts is 'How often it was tried.';
comment on column record.delivery.last_error is 'Why the last attempt failed; empty = it did not.';
comment on column record.delivery.created_at is 'When it was first to be sent.';
comment on column record.delivery.last_attempt_at is 'When it was last tried.';
comment on column record.delivery.delivered_at is 'When it was delivered.';
