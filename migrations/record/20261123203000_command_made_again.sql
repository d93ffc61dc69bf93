-- What an older copy of the records has forgotten is made again from the log, which has
-- only the digest of a key.

-- +goose Up
comment on column record.command.key is 'The key that the request has, the same when it is repeated; sha256: and its SHA-256 in hex when the row was made again from the log, which has no more of it.';
