-- Which deposits were requested under an idempotency key: so that a repeated one makes no
-- second batch.

-- +goose Up
create table record.command (
    submitter    text        not null,
    key          text        not null,
    input_sha256 text        not null,
    batch_id     text        not null unique,
    kept_at      timestamptz not null default clock_timestamp(),
    primary key (submitter, key)
);
comment on table record.command is 'One row per idempotency key of a submitter, kept before the batch is made. Whether the batch was made, the live state and the log say.';
comment on column record.command.submitter is 'Who deposits; keys of others do not count.';
comment on column record.command.key is 'The key that the request has, the same when it is repeated.';
comment on column record.command.input_sha256 is 'SHA-256 of what is deposited, in hex: another deposit under the same key is refused.';
comment on column record.command.batch_id is 'The id that was reserved for the batch.';
comment on column record.command.kept_at is 'When the key was first used.';
