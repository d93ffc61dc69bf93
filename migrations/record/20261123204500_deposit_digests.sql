-- The digest of a manifest that is deposited by URL is known once it was fetched; by the
-- depositor's own algorithm it may be known before.

-- +goose Up
alter table record.deposit drop constraint deposit_pkey, add primary key (batch_id, digest_algorithm);
comment on table record.deposit is 'One row per deposit and algorithm whose digest of the payload is known: when it is accepted, or for a manifest when it was fetched.';
comment on column record.deposit.kept_at is 'When the digest was known.';
