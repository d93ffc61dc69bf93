-- Failed jobs by why they failed, of whom there are many among a million jobs: all that groups
-- them is in the index.

-- +goose Up
create index job_failed on accession.job (reason_code, host, collection, profile_name, id)
    include (status_since, submitter, batch_id, created_at) where status = 'failed';
