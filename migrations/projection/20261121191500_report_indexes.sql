-- Indexes for the questions that reports and docs/sql.md ask. Each is made in one
-- go: writing to its table waits meanwhile.

-- +goose Up
-- A file by its path: a hash, for paths may be longer than an ordered index takes.
create index file_path on accession.file using hash (path);
-- What happened in a stretch of time, files' changes in order.
create index file_transition_at on accession.file_transition (at, seq);
create index job_transition_at on accession.job_transition (at);
create index batch_submitted_at on accession.batch (submitted_at);
-- What happened to a batch: without a second column equal keys are stored once.
create index file_transition_batch on accession.file_transition (batch_id);
create index job_transition_batch on accession.job_transition (batch_id);
