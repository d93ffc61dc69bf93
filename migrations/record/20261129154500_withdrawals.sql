-- Withdrawals of stored objects: who wants the content gone, who agrees, and what became of it.

-- +goose Up
create table record.withdrawal (
    number             bigint      generated always as identity primary key,
    primary_identifier text        not null,
    collection         text        not null,
    state              text        not null default 'requested' check (state in ('requested', 'approved', 'removed', 'rejected', 'taken_back')),
    reason             text        not null check (reason <> ''),
    requested_by       text        not null check (requested_by <> ''),
    requested_at       timestamptz not null default clock_timestamp(),
    decided_by         text        not null default '',
    decided_at         timestamptz,
    decision           text        not null default '',
    removed_at         timestamptz,
    constraint withdrawal_second_person check (state not in ('approved', 'removed') or decided_by not in ('', requested_by))
);
create unique index withdrawal_object on record.withdrawal (primary_identifier) where state in ('requested', 'approved', 'removed');
create index withdrawal_approved on record.withdrawal (number) where state = 'approved';
comment on table record.withdrawal is 'One row per request to withdraw a stored object. The rows of its inventory stay when its content is removed.';
comment on column record.withdrawal.number is 'In the order of the requests.';
comment on column record.withdrawal.primary_identifier is 'The object.';
comment on column record.withdrawal.collection is 'Its collection.';
comment on column record.withdrawal.state is 'requested, approved (nothing of it is served, and its content is being removed), removed, rejected (by another user) or taken_back (by who requested it).';
comment on column record.withdrawal.reason is 'Why it was requested.';
comment on column record.withdrawal.requested_by is 'Who requested it.';
comment on column record.withdrawal.requested_at is 'When.';
comment on column record.withdrawal.decided_by is 'Who approved, rejected or took it back; never who requested it, if it is approved. Empty = it is not decided.';
comment on column record.withdrawal.decided_at is 'When; from then on an approved one counts.';
comment on column record.withdrawal.decision is 'Why it was decided so, if that was said.';
comment on column record.withdrawal.removed_at is 'When the content was gone from all stores.';

-- +goose Down
drop table record.withdrawal;
