-- A payload URL that is kept again counts as new, and an old one is removed.

-- +goose Up
comment on column record.payload_url.kept_at is 'When it was last kept. It is removed once no batch can read it any more.';

-- +goose Down
comment on column record.payload_url.kept_at is 'When it was first kept.';
