-- When a bulk action last went on, so that one that stands still is seen.

-- +goose Up
alter table record.bulk_action add column moved_at timestamptz;
comment on column record.bulk_action.moved_at is 'When it last took things, or one of them was done or refused; null = never.';
create index bulk_action_ended on record.bulk_action (ended_at);
