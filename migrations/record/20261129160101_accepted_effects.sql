-- What a service outside has promised to do, so that it is asked how far it is, and not again.

-- +goose Up
alter table record.effect add column accepted jsonb;
comment on column record.effect.accepted is 'Where the service that has taken it says how far it is, and since when it has it; null where there is no such service, or nothing is known of it.';

-- +goose Down
alter table record.effect drop column accepted;
