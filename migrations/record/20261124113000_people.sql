-- People and programs: who they are, what they may do, how they sign in, and what they did.

-- +goose Up
create table record.user (
    name         text        primary key check (name ~ '^[a-z0-9._@-]{1,64}$'),
    display_name text        not null default '',
    mail         text        not null default '',
    created_at   timestamptz not null,
    changed_at   timestamptz not null,
    disabled_at  timestamptz
);
comment on table record.user is 'One row per person or program that may sign in.';
comment on column record.user.name is 'The name, 1 to 64 of a-z, 0-9, dot, underscore, at sign and hyphen; the submitter of its deposits.';
comment on column record.user.display_name is 'How people call it; empty = as its name.';
comment on column record.user.mail is 'Its mail address, which admins see and itself; empty = unknown.';
comment on column record.user.created_at is 'When it was added.';
comment on column record.user.changed_at is 'When one of these columns changed last.';
comment on column record.user.disabled_at is 'Since when it may not sign in; null = it may.';

create table record.user_secret (
    user_name  text        primary key references record.user (name),
    salt       bytea       not null,
    hash       bytea       not null,
    memory_kib integer     not null,
    passes     integer     not null,
    lanes      integer     not null,
    set_at     timestamptz not null
);
comment on table record.user_secret is 'One row per user with a password, which is not in it.';
comment on column record.user_secret.user_name is 'The user.';
comment on column record.user_secret.salt is 'Random, of this password alone.';
comment on column record.user_secret.hash is 'argon2id of the password, with the cost of the next columns.';
comment on column record.user_secret.memory_kib is 'Memory of the hash in KiB.';
comment on column record.user_secret.passes is 'Passes over that memory.';
comment on column record.user_secret.lanes is 'Lanes that may be computed in parallel.';
comment on column record.user_secret.set_at is 'When the password was set; that its hash was made again at a higher cost does not count.';

create table record.right (
    user_name  text        not null references record.user (name),
    role       text        not null check (role in ('reader', 'depositor', 'operator', 'admin')),
    everywhere boolean     not null,
    collection text        not null default '',
    granted_at timestamptz not null,
    primary key (user_name, role, everywhere, collection),
    check (everywhere = (collection = '') and (everywhere or role <> 'admin'))
);
comment on table record.right is 'One row per right: a user has a role in a collection, or in all of them.';
comment on column record.right.user_name is 'The user.';
comment on column record.right.role is 'reader, depositor, operator or admin.';
comment on column record.right.everywhere is 'It is for all collections, those of the future too.';
comment on column record.right.collection is 'The collection; empty = all.';
comment on column record.right.granted_at is 'When it was granted.';

create table record.api_key (
    prefix      text        primary key,
    user_name   text        not null references record.user (name),
    label       text        not null default '',
    sha256      bytea       not null,
    roles       text[]      not null default '{}',
    collections text[]      not null default '{}',
    created_at  timestamptz not null,
    expires_at  timestamptz,
    revoked_at  timestamptz,
    used_on     date
);
create index api_key_user on record.api_key (user_name, prefix);
comment on table record.api_key is 'One row per API key, which is not in it; a revoked one stays.';
comment on column record.api_key.prefix is 'What the key shows of itself: acc_PREFIX_SECRET.';
comment on column record.api_key.user_name is 'The user as whom it acts.';
comment on column record.api_key.label is 'What it is for.';
comment on column record.api_key.sha256 is 'SHA-256 of the whole key.';
comment on column record.api_key.roles is 'The key has rights in these roles only; empty = in all of its user.';
comment on column record.api_key.collections is 'The key has rights in these collections only; empty = in all of its user.';
comment on column record.api_key.created_at is 'When it was created.';
comment on column record.api_key.expires_at is 'From when on it is refused; null = it does not expire.';
comment on column record.api_key.revoked_at is 'When it was revoked; null = it was not.';
comment on column record.api_key.used_on is 'The last day (UTC) on which it was used; null = it never was.';

create table record.session (
    sha256     bytea       primary key,
    user_name  text        not null references record.user (name),
    address    text        not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index session_of_user on record.session (user_name);
create index session_expires on record.session (expires_at);
comment on table record.session is 'One row per sign-in that has neither ended nor been expired for long.';
comment on column record.session.sha256 is 'SHA-256 of its token, which is not kept.';
comment on column record.session.user_name is 'Who has signed in.';
comment on column record.session.address is 'From which address; empty = unknown.';
comment on column record.session.created_at is 'When that was.';
comment on column record.session.expires_at is 'From when on it is refused.';

create table record.sign_in (
    subject  text        primary key,
    began_at timestamptz not null,
    last_at  timestamptz not null,
    attempts integer     not null
);
create index sign_in_last on record.sign_in (last_at);
comment on table record.sign_in is 'One row per name and per address with attempts to sign in that did not succeed, of the last days.';
comment on column record.sign_in.subject is 'name/NAME or address/ADDRESS; of IPv6 its network of 64 bits.';
comment on column record.sign_in.began_at is 'The first of the attempts that are counted.';
comment on column record.sign_in.last_at is 'The last of them.';
comment on column record.sign_in.attempts is 'How many they are; one under way counts until it succeeds.';

create table record.audit_entry (
    id      bigint      generated always as identity primary key,
    at      timestamptz not null,
    caller  text        not null,
    via     text        not null,
    address text        not null default '',
    action  text        not null,
    subject text        not null default '',
    outcome text        not null check (outcome in ('done', 'refused', 'failed')),
    detail  text        not null default '',
    reason  text        not null default ''
);
create index audit_entry_at on record.audit_entry (at, id);
create index audit_entry_caller on record.audit_entry (caller, id);
create index audit_entry_action on record.audit_entry (action, id);
comment on table record.audit_entry is 'One row per change of people, rights and settings, command of an operator, and refusal; none is changed or removed.';
comment on column record.audit_entry.id is 'Its number; later ones are higher.';
comment on column record.audit_entry.at is 'When.';
comment on column record.audit_entry.caller is 'Who: a user, or via machine the name of the operating system.';
comment on column record.audit_entry.via is 'How the caller is known: machine, password, session, or key and its prefix.';
comment on column record.audit_entry.address is 'From where: an address, or the name of the machine.';
comment on column record.audit_entry.action is 'What was asked for, such as user.grant.';
comment on column record.audit_entry.subject is 'On what, such as user/jo.';
comment on column record.audit_entry.outcome is 'done, refused or failed.';
comment on column record.audit_entry.detail is 'What has changed, or why it was refused.';
comment on column record.audit_entry.reason is 'Why, as the caller says.';
