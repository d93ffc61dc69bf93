-- The oldest batch of each state, found without reading the others.

-- +goose Up
create index batch_last_modified on accession.batch (status, last_modified);
