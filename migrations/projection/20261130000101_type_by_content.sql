-- The type of a deposit may be found out by its content, when its batch is listed.

-- +goose Up
alter table accession.batch add column type_found boolean not null default false;
comment on column accession.batch.type_found is 'Whether the type was found out by the content, when the batch was listed, because the submission did not say it.';
comment on column accession.batch.type is 'Kind of submission: file, container, object_manifest, batch_manifest, container_batch_manifest, file_batch_manifest or metadata; empty = it is found out when the batch is listed.';
