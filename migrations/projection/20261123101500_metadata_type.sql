-- Submissions may be metadata files.

-- +goose Up
comment on column accession.batch.type is 'Kind of submission: file, container, object_manifest, batch_manifest, container_batch_manifest, file_batch_manifest or metadata.';
