-- Commands of operators about all that a filter selects: which, how far they are, and
-- what became of each thing.

-- +goose Up
create table record.bulk_action (
    id             text        primary key,
    number         bigint      not null generated always as identity unique,
    request_sha256 text        unique,
    input_sha256   text        not null,
    actor          text        not null,
    kind           text        not null,
    verb           text        not null,
    filter         jsonb       not null,
    user_name      text        not null default '',
    sees           jsonb,
    priority       integer,
    reason         text        not null,
    matched        bigint,
    position       text        not null default '',
    done           bigint      not null default 0,
    refused        bigint      not null default 0,
    requested_at   timestamptz not null default clock_timestamp(),
    begun_at       timestamptz,
    cancelled_at   timestamptz,
    cancelled_by   text        not null default '',
    ended_at       timestamptz
);
create index bulk_action_open on record.bulk_action (number) where ended_at is null;
comment on table record.bulk_action is 'One row per command that an operator gave about all batches, jobs or files that a filter selects. The service carries it out.';
comment on column record.bulk_action.id is 'Its id (UUID); the events that it caused have the command bulk-ID.';
comment on column record.bulk_action.number is 'Their order.';
comment on column record.bulk_action.request_sha256 is 'SHA-256 of who requested it and under which idempotency key, in hex; null = without one.';
comment on column record.bulk_action.input_sha256 is 'SHA-256 of what was requested, in hex: another request under the same key is refused.';
comment on column record.bulk_action.actor is 'Who requested it, as events name the actor.';
comment on column record.bulk_action.kind is 'What it is about: batch, job or file.';
comment on column record.bulk_action.verb is 'The command, such as requeue.';
comment on column record.bulk_action.filter is 'What it selects.';
comment on column record.bulk_action.user_name is 'The user with rights who requested it; empty = a user of the machine itself.';
comment on column record.bulk_action.sees is 'In which collections that user might act when it was requested; null = in all, as on the machine itself.';
comment on column record.bulk_action.priority is 'The new priority, of the verb priority.';
comment on column record.bulk_action.reason is 'Why, as the events have it; empty = not said.';
comment on column record.bulk_action.matched is 'How many things the filter selected when it was requested; null = more than were counted.';
comment on column record.bulk_action.position is 'The last thing that was taken, in the order of the list; empty = none.';
comment on column record.bulk_action.done is 'How many things were changed.';
comment on column record.bulk_action.refused is 'How many things could not be changed.';
comment on column record.bulk_action.requested_at is 'When it was requested: things that came later are not selected.';
comment on column record.bulk_action.begun_at is 'When the first things were taken; null = it waits.';
comment on column record.bulk_action.cancelled_at is 'When an operator ended it early; null = no operator did.';
comment on column record.bulk_action.cancelled_by is 'Who ended it early.';
comment on column record.bulk_action.ended_at is 'When nothing was left to do; null = something is.';

create table record.bulk_item (
    action_id  text        not null references record.bulk_action,
    target     text        not null,
    version    bigint      not null,
    outcome    text        not null default 'begun' check (outcome in ('begun', 'done', 'refused')),
    tries      integer     not null default 1,
    result     text        not null default '',
    code       text        not null default '',
    message    text        not null default '',
    changed_at timestamptz not null default clock_timestamp(),
    primary key (action_id, target)
);
create index bulk_item_outcome on record.bulk_item (action_id, outcome, target);
comment on table record.bulk_item is 'One row per thing that a bulk action has taken, from before the command was given to it.';
comment on column record.bulk_item.action_id is 'The bulk action.';
comment on column record.bulk_item.target is 'Id of the batch, job or file.';
comment on column record.bulk_item.version is 'The version that may be changed; 0 = any.';
comment on column record.bulk_item.outcome is 'begun (whether it was changed is not known yet), done or refused.';
comment on column record.bulk_item.tries is 'How often it was tried; given up after 5.';
comment on column record.bulk_item.result is 'Its state afterwards; empty = not known.';
comment on column record.bulk_item.code is 'Kind of the error for which it was refused; empty = it was not.';
comment on column record.bulk_item.message is 'Why it was refused, as a sentence; empty = it was not.';
comment on column record.bulk_item.changed_at is 'When this row was last changed.';
