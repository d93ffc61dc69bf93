-- Bulk actions are about deposits in the drop folder too.

-- +goose Up
comment on table record.bulk_action is 'One row per command that an operator gave about all batches, jobs, files, entries, queries or deposits in the drop folder that a filter selects. The service carries it out.';
comment on column record.bulk_action.kind is 'What it is about: batch, job, file, entry, query or drop.';
comment on column record.bulk_action.sees is 'In which collections that user might act when it was requested; null = in all, as on the machine itself. Entries, queries and deposits in the drop folder take all.';
comment on column record.bulk_item.target is 'Id of the batch, job, file, entry, query or deposit.';
