-- Whose files: lists of files by submitter, and those of a depositor, read an index in
-- their order and not every file's job.

-- +goose Up
alter table accession.file add column submitter text not null default '';
comment on column accession.file.submitter is 'Submitter of its job; empty = it has none, or its job is not in the tables yet.';
create index file_submitter on accession.file (submitter, seq);
