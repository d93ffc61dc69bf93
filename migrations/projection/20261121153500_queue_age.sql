-- The oldest job of each state, found without reading the others.

-- +goose Up
create index job_status_since on accession.job (status, status_since);
