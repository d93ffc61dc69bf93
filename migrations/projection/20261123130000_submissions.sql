-- Users ask for the batches of a submission.

-- +goose Up
create index batch_submission on accession.batch (submission_id, id) where submission_id <> '';
