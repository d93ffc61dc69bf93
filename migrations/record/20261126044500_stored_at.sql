-- +goose Up
create index object_version_stored_at on record.object_version (stored_at);

-- +goose Down
drop index record.object_version_stored_at;
