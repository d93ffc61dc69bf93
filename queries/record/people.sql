-- Users, their rights, passwords, keys and sessions, and what was audited. All that
-- compares times takes now from its caller.

-- name: Now :one
select clock_timestamp()::timestamptz;

-- name: AddUser :execrows
insert into record.user (name, display_name, mail, created_at, changed_at)
values (@name, @display_name, @mail, @now, @now) on conflict do nothing;

-- name: LockUser :one
select * from record.user where name = @name for update;

-- name: SaveUser :exec
update record.user set display_name = @display_name, mail = @mail, disabled_at = sqlc.narg('disabled_at'), changed_at = @now, version = version + 1 where name = @name;

-- name: RaiseUser :exec
-- Of what belongs to a user and is in another table.
update record.user set changed_at = @now, version = version + 1 where name = @name;

-- name: Users :many
-- In the order of their names, a page at a time; with names, those.
select u.*, exists (select from record.user_secret s where s.user_name = u.name) as has_password,
    coalesce(o.issuer, '')::text as issuer, coalesce(o.subject, '')::text as subject
from record.user u left join record.user_openid o on o.user_name = u.name
where u.name > @after and (u.name = any(@names::text[]) or cardinality(@names::text[]) = 0)
order by u.name limit @max_rows;

-- name: RightsOfUsers :many
select * from record.right where user_name = any(@names::text[]) order by user_name, role, everywhere, collection;

-- name: GrantRight :execrows
insert into record.right (user_name, role, everywhere, collection, granted_at)
values (@user_name, @role, @everywhere, @collection, @now) on conflict do nothing;

-- name: WithdrawRight :execrows
delete from record.right where user_name = @user_name and role = @role and everywhere = @everywhere and collection = @collection;

-- name: PutSecret :exec
insert into record.user_secret (user_name, salt, hash, memory_kib, passes, lanes, set_at)
values (@user_name, @salt, @hash, @memory_kib, @passes, @lanes, @now)
on conflict (user_name) do update set salt = excluded.salt, hash = excluded.hash,
    memory_kib = excluded.memory_kib, passes = excluded.passes, lanes = excluded.lanes, set_at = excluded.set_at;

-- name: RehashSecret :exec
-- Unless the password was changed meanwhile.
update record.user_secret set salt = @salt, hash = @hash, memory_kib = @memory_kib, passes = @passes, lanes = @lanes
where user_name = @user_name and hash = @old_hash;

-- name: Secret :one
select * from record.user_secret where user_name = @user_name;

-- name: RemoveOpenID :exec
delete from record.user_openid where user_name = @user_name;

-- name: AddOpenID :execrows
-- None, if another user is that person.
insert into record.user_openid (user_name, issuer, subject, bound_at) values (@user_name, @issuer, @subject, @now) on conflict do nothing;

-- name: UserOfOpenID :one
select user_name from record.user_openid where issuer = @issuer and subject = @subject;

-- name: BeginOpenID :exec
insert into record.openid_sign_in (sha256, next, expires_at) values (@sha256, @next, @expires_at);

-- name: EndOpenID :one
delete from record.openid_sign_in where sha256 = @sha256 returning *;

-- name: PurgeOpenID :exec
delete from record.openid_sign_in where sha256 in (
    select s.sha256 from record.openid_sign_in s where s.expires_at < @before order by s.expires_at limit 100 for update skip locked);

-- name: AddKey :exec
insert into record.api_key (prefix, user_name, label, sha256, roles, collections, created_at, expires_at)
values (@prefix, @user_name, @label, @sha256, @roles, @collections, @now, sqlc.narg('expires_at'));

-- name: Keys :many
-- In the order of their prefixes, a page at a time; of a user, or with an empty name of all.
select * from record.api_key where (user_name = @user_name or @user_name = '') and prefix > @after
order by prefix limit @max_rows;

-- name: Key :one
select * from record.api_key where prefix = @prefix;

-- name: LockKey :one
select * from record.api_key where prefix = @prefix for update;

-- name: RevokeKey :exec
update record.api_key set revoked_at = @now where prefix = @prefix;

-- name: NoteKeyUse :exec
update record.api_key set used_on = @used_on where prefix = @prefix and (used_on is null or used_on < @used_on);

-- name: AddSession :exec
insert into record.session (sha256, user_name, address, created_at, expires_at)
values (@sha256, @user_name, @address, @now, @expires_at);

-- name: Session :one
select * from record.session where sha256 = @sha256;

-- name: EndSession :execrows
delete from record.session where sha256 = @sha256;

-- name: EndSessionsOf :execrows
delete from record.session where user_name = @user_name;

-- name: PurgeSessions :exec
delete from record.session where sha256 in (
    select s.sha256 from record.session s where s.expires_at < @before order by s.expires_at limit 100 for update skip locked);

-- name: LockAttempts :many
-- In one order, so that two attempts cannot wait for each other.
insert into record.sign_in (subject, began_at, last_at, attempts)
select unnest(@subjects::text[]), @now, @now, 0 order by 1
on conflict (subject) do update set subject = excluded.subject
returning *;

-- name: SaveAttempts :exec
update record.sign_in set began_at = @began_at, last_at = @last_at, attempts = @attempts where subject = @subject;

-- name: GiveBackAttempts :exec
update record.sign_in set attempts = attempts - 1 where subject = any(@subjects::text[]) and attempts > 0;

-- name: ForgetAttempts :exec
delete from record.sign_in where subject = @subject;

-- name: PurgeAttempts :exec
delete from record.sign_in where subject in (
    select s.subject from record.sign_in s where s.last_at < @before order by s.last_at limit 100 for update skip locked);

-- name: AddAuditEntry :exec
insert into record.audit_entry (at, caller, via, address, action, subject, outcome, detail, reason)
values (@now, @caller, @via, @address, @action, @subject, @outcome, @detail, @reason);

-- name: AuditEntries :many
-- The newest first, a page at a time; empty texts and null select all.
select * from record.audit_entry
where (sqlc.narg('before')::bigint is null or id < sqlc.narg('before')) and (sqlc.narg('since')::timestamptz is null or at >= sqlc.narg('since'))
    and (sqlc.narg('until')::timestamptz is null or at < sqlc.narg('until'))
    and (@caller::text = '' or caller = @caller) and (@action::text = '' or action = @action or starts_with(action, @action || '.'))
    and (@subject::text = '' or subject = @subject)
order by id desc limit @max_rows;

-- name: AddPeopleCommand :execrows
insert into record.people_command (id, request_sha256, subject, given_at) values (@id, @request_sha256, @subject, @now) on conflict do nothing;

-- name: PeopleCommand :one
select * from record.people_command where id = @id;
