-- Indexes for lists of objects by what is said of a version, among a million.

-- +goose Up
create index object_version_profile on record.object_version (profile_name, primary_identifier);
-- Versions are recorded in the order of these times.
create index object_version_recorded on record.object_version using brin (recorded_at) with (pages_per_range = 32);
