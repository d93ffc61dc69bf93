-- What events say since issue 11: the collection, what was submitted, which server a
-- reason is about and who must act. Older events do not say it: empty or null = unknown.

-- +goose Up
alter table accession.batch
    add column collection         text not null default '',
    add column submission_id      text not null default '',
    add column queue              text not null default '',
    add column account            text not null default '',
    add column received_at        timestamptz,
    add column slot               text not null default '',
    add column primary_identifier text not null default '',
    add column local_id           text[],
    add column profile_version    text not null default '',
    add column key_sha256         text not null default '',
    add column reason_host        text,
    add column reason_who_acts    text;
comment on column accession.batch.collection is 'Collection of the profile when its last event was written; empty = unknown.';
comment on column accession.batch.submission_id is 'Id that the depositor was told before the batch had one; empty = none.';
comment on column accession.batch.queue is 'Deposit queue that it came through; empty = none.';
comment on column accession.batch.account is 'Account that submitted it; empty = unknown.';
comment on column accession.batch.received_at is 'When the deposit was received; null = unknown.';
comment on column accession.batch.slot is 'Slot of the open directory that it came from; empty = none.';
comment on column accession.batch.primary_identifier is 'Identifier that the depositor gave for a single object; empty = none.';
comment on column accession.batch.local_id is 'Local identifiers that the depositor gave for a single object.';
comment on column accession.batch.profile_version is 'Version of the profile when it was submitted; empty = unknown.';
comment on column accession.batch.key_sha256 is 'SHA-256 of the idempotency key of its submission, in hex; empty = none.';
comment on column accession.batch.reason_host is 'Server that the reason is about; empty = none.';
comment on column accession.batch.reason_who_acts is 'Who must act now: depositor, operator, service or none; empty = follows from the class.';

alter table accession.job
    add column collection      text not null default '',
    add column object_key      text not null default '',
    add column profile_version text not null default '',
    add column host            text not null default '',
    add column reason_host     text,
    add column reason_who_acts text;
comment on column accession.job.collection is 'Collection of the profile when its last event was written; empty = unknown.';
comment on column accession.job.object_key is 'Names its object before it has an identifier; empty = unknown.';
comment on column accession.job.profile_version is 'Version of the profile when it was created; empty = unknown.';
comment on column accession.job.host is 'Server of its payload; empty = unknown.';
comment on column accession.job.reason_host is 'Server that the reason is about; empty = none.';
comment on column accession.job.reason_who_acts is 'Who must act now: depositor, operator, service or none; empty = follows from the class.';

alter table accession.job_transition add column reason_host text;
comment on column accession.job_transition.reason_host is 'Server that the reason is about; empty = none.';

alter table accession.file
    add column collection      text not null default '',
    add column profile_name    text not null default '',
    add column dataset         text not null default '',
    add column group_name      text not null default '',
    add column host            text not null default '',
    add column reason_host     text,
    add column reason_who_acts text;
comment on column accession.file.collection is 'Collection of its profile when it was discovered; empty = unknown.';
comment on column accession.file.profile_name is 'Profile that it was discovered under; empty = unknown.';
comment on column accession.file.dataset is 'Dataset that it belongs to; empty = none.';
comment on column accession.file.group_name is 'Group within the dataset; empty = none.';
comment on column accession.file.host is 'Server of its URL; empty = unknown.';
comment on column accession.file.reason_host is 'Server that the reason is about; empty = none.';
comment on column accession.file.reason_who_acts is 'Who must act now: depositor, operator, service or none; empty = follows from the class.';

alter table accession.file_transition
    add column reason_host text,
    add column uncounted   boolean not null default false;
comment on column accession.file_transition.reason_host is 'Server that the reason is about; empty = none.';
comment on column accession.file_transition.uncounted is 'The attempt was given back: the fault was ours.';

alter table accession.retry
    add column host      text not null default '',
    add column who_acts  text not null default '',
    add column uncounted boolean not null default false;
comment on column accession.retry.host is 'Server that the failure is about; empty = none.';
comment on column accession.retry.who_acts is 'Who must act, as the event says; empty = follows from the class.';
comment on column accession.retry.uncounted is 'The attempt was given back: the fault was ours.';
