-- The files of a dataset by their paths, for lists and reports.

-- +goose Up
create index file_dataset_path on accession.file (dataset, path, raw_file_hash) where job_id = '' and dataset <> '';
