-- Bulk actions are about slots and open directories too.

-- +goose Up
alter table record.bulk_action add column closes_at timestamptz;
comment on table record.bulk_action is 'One row per command that an operator gave about all batches, jobs, files, entries, queries, deposits in the drop folder, slots or open directories that a filter selects. The service carries it out.';
comment on column record.bulk_action.kind is 'What it is about: batch, job, file, entry, query, drop, slot or discover.';
comment on column record.bulk_action.closes_at is 'The new end of the windows, of the verb open; null = they stay.';
comment on column record.bulk_item.target is 'Id of the batch, job, file, entry, query, deposit or slot, or name of the directory.';
