-- Bulk actions are about entries of the compute queue and queries too.

-- +goose Up
comment on table record.bulk_action is 'One row per command that an operator gave about all batches, jobs, files, entries or queries that a filter selects. The service carries it out.';
comment on column record.bulk_action.kind is 'What it is about: batch, job, file, entry or query.';
comment on column record.bulk_action.sees is 'In which collections that user might act when it was requested; null = in all, as on the machine itself. Entries and queries take all.';
comment on column record.bulk_item.target is 'Id of the batch, job, file, entry or query.';
