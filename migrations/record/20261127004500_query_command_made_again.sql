-- What an older copy of the records has forgotten of the keys of queries is made again from the
-- log, which has only the digest of a key, and no addresses.

-- +goose Up
comment on column record.query_command.key is 'The key that the request has, the same when it is repeated; sha256: and its SHA-256 in hex when the row was made again from the log, which has no more of it.';
comment on column record.query_command.input_sha256 is 'SHA-256 of what is asked, in hex: another query under the same key is refused. Of a row that was made again it is without the addresses of the mail, but for how many there are.';
