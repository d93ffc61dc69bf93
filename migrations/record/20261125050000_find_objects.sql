-- Objects are found by words of their titles and creators, by names of files, and by who
-- deposited them.

-- +goose Up
create index object_title on record.object using gin (to_tsvector('simple', erc_what));
create index object_creator on record.object using gin (to_tsvector('simple', erc_who));
create index object_file_last on record.object_file (regexp_replace(name, '^.*/', ''), primary_identifier);
create index object_version_submitter on record.object_version (submitter, primary_identifier);
