-- How far the installation was, to notice servers with older copies of their data.

-- +goose Up
create table record.high_water (
    name     text        primary key,
    begun    bigint      not null,
    done     bigint      not null default 0,
    epoch    bigint      not null default 0,
    log_seq  bigint      not null default 0,
    batch_id text        not null default '',
    job_id   text        not null default '',
    done_at  timestamptz
);
comment on table record.high_water is 'One row: the high-water mark, which the object store and ZooKeeper keep too. A server with a lower round than the others has an older copy of its data.';
comment on column record.high_water.name is 'Of what: installation.';
comment on column record.high_water.begun is 'The last round that was begun.';
comment on column record.high_water.done is 'The last round that all of them have kept; 0 = none.';
comment on column record.high_water.epoch is 'The epoch at that time.';
comment on column record.high_water.log_seq is 'The log had events up to this sequence.';
comment on column record.high_water.batch_id is 'The highest batch id that was reserved; empty = none.';
comment on column record.high_water.job_id is 'The highest job id that was reserved; empty = none.';
comment on column record.high_water.done_at is 'When that round was done.';
