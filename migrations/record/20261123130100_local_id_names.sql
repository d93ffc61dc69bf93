-- Users ask for a local id without its owner.

-- +goose Up
create index local_id_name on record.local_id (local_id, bound_at);
