-- Indexes for lists with a filter, among a million jobs: each is in the order of its list,
-- so that a page ends when it is full. Each is made in one go: writing to its table waits
-- meanwhile.

-- +goose Up
create index job_submitter on accession.job (submitter, id);
create index job_collection on accession.job (collection, id);
create index job_profile on accession.job (profile_name, id);
create index job_host on accession.job (host, id);
create index job_reason on accession.job (reason_code, id) where reason_code is not null;
create index file_collection on accession.file (collection, seq);
create index file_profile on accession.file (profile_name, seq);
create index file_host on accession.file (host, seq);
create index file_reason on accession.file (reason_code, seq) where reason_code is not null;
create index batch_collection on accession.batch (collection, id);
create index batch_profile on accession.batch (profile_name, id);
create index batch_reason on accession.batch (reason_code, id) where reason_code is not null;
-- Rows are made in the order of these times.
create index job_created on accession.job using brin (created_at) with (pages_per_range = 32);
create index file_discovered on accession.file using brin (discovered_at) with (pages_per_range = 32);
