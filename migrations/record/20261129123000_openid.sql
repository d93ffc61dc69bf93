-- Who a user is at an OpenID Connect provider, and sign-ins there that are under way.

-- +goose Up
create table record.user_openid (
    user_name text        primary key references record.user (name),
    issuer    text        not null,
    subject   text        not null,
    bound_at  timestamptz not null,
    unique (issuer, subject)
);
comment on table record.user_openid is 'One row per user who may sign in by an OpenID Connect provider.';
comment on column record.user_openid.user_name is 'The user.';
comment on column record.user_openid.issuer is 'The provider, as it writes itself in ID tokens (iss).';
comment on column record.user_openid.subject is 'Who the user is there: what no other person is or becomes (sub).';
comment on column record.user_openid.bound_at is 'Since when.';

create table record.openid_sign_in (
    sha256     bytea       primary key,
    next       text        not null,
    expires_at timestamptz not null
);
create index openid_sign_in_expires on record.openid_sign_in (expires_at);
comment on table record.openid_sign_in is 'One row per sign-in by an OpenID Connect provider that has begun and not come back; each comes back once.';
comment on column record.openid_sign_in.sha256 is 'SHA-256 of its token, which the browser keeps and which is not kept here.';
comment on column record.openid_sign_in.next is 'The page to which it leads.';
comment on column record.openid_sign_in.expires_at is 'From when on it is refused.';

comment on column record.audit_entry.caller is 'Who: a user, or via machine the name of the operating system; empty = a person whom the OpenID Connect provider knows, and who is no user.';
comment on column record.audit_entry.via is 'How the caller is known: machine, password, openid, session, or key and its prefix.';

-- +goose Down
drop table record.openid_sign_in;
drop table record.user_openid;
comment on column record.audit_entry.caller is 'Who: a user, or via machine the name of the operating system.';
comment on column record.audit_entry.via is 'How the caller is known: machine, password, session, or key and its prefix.';
