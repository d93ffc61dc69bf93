-- Results of the compute queue.

-- +goose Up
create table record.compute_result (
    entry_id    text        not null,
    sha256      text        not null,
    key         text        not null,
    result      jsonb       not null,
    exit_status bigint      not null,
    last_lines  text        not null,
    worker      text        not null,
    attempt     bigint      not null,
    kept_at     timestamptz not null default clock_timestamp(),
    primary key (entry_id, attempt, worker)
);
create index compute_result_key on record.compute_result (key);
comment on table record.compute_result is 'One row per result that a worker has kept before it said that the entry is done. The result of an entry is the one whose SHA-256 the event entry.completed has.';
comment on column record.compute_result.entry_id is 'Entry id.';
comment on column record.compute_result.sha256 is 'SHA-256 of the result as the worker wrote it, in hex.';
comment on column record.compute_result.key is 'Key under which the entry was requested.';
comment on column record.compute_result.result is 'What the command wrote: its JSON, or its text as a string.';
comment on column record.compute_result.exit_status is 'Exit status of the command.';
comment on column record.compute_result.last_lines is 'The last lines that the command wrote on its standard error.';
comment on column record.compute_result.worker is 'Worker that ran the command.';
comment on column record.compute_result.attempt is 'Which attempt it was, from 1.';
comment on column record.compute_result.kept_at is 'When it was kept.';

-- +goose Down
drop table record.compute_result;
