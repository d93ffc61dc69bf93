-- Which payloads were deposited: so that a second deposit of the same is noticed.

-- +goose Up
create table record.deposit (
    batch_id         text        primary key,
    profile_name     text        not null,
    submitter        text        not null,
    digest_algorithm text        not null,
    digest_value     text        not null,
    kept_at          timestamptz not null default clock_timestamp()
);
create index deposit_digest on record.deposit (digest_value, profile_name, submitter);
comment on table record.deposit is 'One row per deposit whose digest was known when it was accepted.';
comment on column record.deposit.batch_id is 'The batch that it became.';
comment on column record.deposit.profile_name is 'Profile of the deposit.';
comment on column record.deposit.submitter is 'Who deposited it.';
comment on column record.deposit.digest_algorithm is 'Algorithm of the digest, such as sha256.';
comment on column record.deposit.digest_value is 'Digest of the payload, in hex.';
comment on column record.deposit.kept_at is 'When it was accepted.';
