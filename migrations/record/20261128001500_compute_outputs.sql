-- Outputs of the compute queue.

-- +goose Up
alter table record.compute_result add column claim bigint not null default 0;
alter table record.compute_result add column outputs jsonb not null default '[]';
comment on column record.compute_result.claim is 'Version of the entry by the claim of the worker, under which its outputs are kept; 0: it is not known.';
comment on column record.compute_result.outputs is 'Files that the worker left beside the result: name, size in bytes and SHA-256 of each, by name. They are kept as long as the entry is in ZooKeeper.';

-- +goose Down
alter table record.compute_result drop column claim;
alter table record.compute_result drop column outputs;
