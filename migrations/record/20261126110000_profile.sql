-- What profiles were set to in place of their files: the setting of a profile names a
-- version, and this is its content.

-- +goose Up
create table record.profile (
    name    text        not null,
    version text        not null,
    content text        not null,
    kept_by text        not null,
    kept_at timestamptz not null default clock_timestamp(),
    primary key (name, version)
);
comment on table record.profile is 'One row per content that a profile was set to while the service ran, kept before the setting names it. Which of them counts, the setting of the profile says.';
comment on column record.profile.name is 'Name of the profile.';
comment on column record.profile.version is 'Version of the content: the first digits of its SHA-256, defaults spelled out.';
comment on column record.profile.content is 'The profile as YAML, defaults spelled out.';
comment on column record.profile.kept_by is 'Who set the profile to this content first.';
comment on column record.profile.kept_at is 'When the content was kept.';
