-- Files without a job that wait to become ready, and what they are compared with.

-- +goose Up
create index file_waiting on accession.file (raw_file_hash) where status = 'DOWNLOADED' and job_id = '';
create index file_content on accession.file (dataset, sha256, seq) where job_id = '' and sha256 <> '';
create index file_modified on accession.file (dataset, source_modified, path) where job_id = '';
