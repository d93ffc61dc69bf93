-- Which queries were requested under an idempotency key: so that a repeated one makes no
-- second query.

-- +goose Up
create table record.query_command (
    submitter    text        not null,
    key          text        not null,
    input_sha256 text        not null,
    query_id     text        not null unique,
    kept_at      timestamptz not null default clock_timestamp(),
    primary key (submitter, key)
);
comment on table record.query_command is 'One row per idempotency key of who asks, kept before the query is made. Whether the query was made, the live state and the log say.';
comment on column record.query_command.submitter is 'Who asks; keys of others do not count.';
comment on column record.query_command.key is 'The key that the request has, the same when it is repeated.';
comment on column record.query_command.input_sha256 is 'SHA-256 of what is asked, in hex: another query under the same key is refused.';
comment on column record.query_command.query_id is 'The id that was reserved for the query.';
comment on column record.query_command.kept_at is 'When the key was first used.';

-- +goose Down
drop table record.query_command;
