-- Whether a result of the compute queue is still what was kept.

-- +goose Up
alter table record.compute_result add column kept_sha256 text;
comment on column record.compute_result.kept_sha256 is 'SHA-256 of the columns result and outputs as text, in hex, from when they were kept; null = an older program kept them. The SHA-256 in sha256 is of what the worker wrote, which is not kept byte for byte.';

-- +goose Down
alter table record.compute_result drop column kept_sha256;
