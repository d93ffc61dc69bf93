-- The result of a file that a worker of the compute queue has processed is in the tables.

-- +goose Up
comment on column accession.file.output_key is 'Where its result is: a key of the object store, or the id of an entry of the compute queue, whose result is in record.compute_result; null = no result, or the file itself is it.';
