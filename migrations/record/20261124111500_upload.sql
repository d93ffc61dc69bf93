-- Which uploads were requested under an idempotency key: so that a repeated one is
-- accepted once.

-- +goose Up
create table record.upload (
    submitter    text        not null,
    key_sha256   text        not null,
    input_sha256 text        not null,
    deposit_id   text        not null,
    kept_at      timestamptz not null default clock_timestamp(),
    primary key (submitter, key_sha256)
);
comment on table record.upload is 'One row per idempotency key of an upload, kept before its file is. Whether the file was accepted, the drop folder and what became of it say.';
comment on column record.upload.submitter is 'Who deposits; keys of others do not count.';
comment on column record.upload.key_sha256 is 'SHA-256 of the key that the request has, in hex.';
comment on column record.upload.input_sha256 is 'SHA-256 of what the depositor says of the file, in hex: another upload under the same key is refused.';
comment on column record.upload.deposit_id is 'The id that the deposit has in the drop folder.';
comment on column record.upload.kept_at is 'When the key was first used.';
