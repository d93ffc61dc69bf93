-- name: DiscoveryTimes :many
-- Which discoveries are known in which version, whether the time of their next poll has come, and
-- whether an operator asked for it.
select name, version, (next_at <= clock_timestamp())::boolean as due,
    (asked_at is not null and (begun_at is null or asked_at > begun_at))::boolean as asked
from record.discovery;

-- name: BeginPoll :one
insert into record.discovery (name, begun_at) values (@name, clock_timestamp())
on conflict (name) do update set begun_at = excluded.begun_at
returning *;

-- name: PostponePoll :exec
-- The numbers stay those of the last complete poll. A poll that was asked for meanwhile comes
-- at once, here and below. A host that is named has asked to be left alone.
with paused as (
    insert into record.host_pause (host, until_at)
    select @host::text, clock_timestamp() + make_interval(secs => @host_seconds::double precision) where @host::text <> ''
    on conflict (host) do update set until_at = greatest(host_pause.until_at, excluded.until_at)
)
update record.discovery set ended_at = clock_timestamp(), outcome = @outcome, error = @error, version = @version, url = @url,
    etag = case when version = @version then etag else '' end, modified = case when version = @version then modified end,
    next_at = case when next_at > begun_at then next_at else clock_timestamp() + make_interval(secs => @seconds::double precision) end
where name = @name;

-- name: UnchangedPoll :exec
-- A host that is named answers again, here and below.
with resumed as (
    delete from record.host_pause where host = @host::text or until_at <= clock_timestamp()
)
update record.discovery set ended_at = clock_timestamp(), complete_at = clock_timestamp(), outcome = 'unchanged', error = '', fresh = 0, changed = 0,
    known = files, next_at = case when next_at > begun_at then next_at else clock_timestamp() + make_interval(secs => @seconds::double precision) end
where name = @name;

-- name: CompletePoll :exec
with resumed as (
    delete from record.host_pause where host = @host::text or until_at <= clock_timestamp()
)
update record.discovery set ended_at = clock_timestamp(), complete_at = clock_timestamp(), outcome = 'complete', error = '', version = @version, url = @url,
    next_at = case when next_at > begun_at then next_at else clock_timestamp() + make_interval(secs => @seconds::double precision) end, directories = @directories, files = @files, fresh = @fresh,
    known = @known, changed = @changed, gone = @gone, out_by_pattern = @out_by_pattern, out_by_age = @out_by_age, out_by_size = @out_by_size,
    out_by_link = @out_by_link, etag = @etag, modified = @modified
where name = @name;

-- name: AskPoll :exec
-- Has a discovery polled now.
insert into record.discovery (name, asked_at) values (@name, clock_timestamp())
on conflict (name) do update set next_at = clock_timestamp(), asked_at = clock_timestamp(), etag = '', modified = null;

-- name: Discovery :one
select d.*,
    (select count(*) from record.directory_listing l where l.discovery = d.name and l.gone_at is null) as listed,
    (select count(*) from record.directory_listing l where l.discovery = d.name and l.gone_at is not null) as vanished,
    (select count(*) from record.directory_listing l where l.discovery = d.name and l.changed_at is not null) as altered
from record.discovery d where d.name = @name;

-- name: ListedPaths :many
-- What of some paths a discovery has listed.
select path, raw_file_hash from record.directory_listing where discovery = @discovery and path = any(@paths::text[]);

-- name: KeepListed :many
-- Keeps what a poll lists of some files, and says which have changed.
insert into record.directory_listing (discovery, path, raw_file_hash, url, size, modified, first_at, last_at)
select @discovery::text, r.path, r.raw_file_hash, r.url, r.size, r.modified, @begun_at::timestamptz, @begun_at::timestamptz
from json_populate_recordset(null::record.directory_listing, @rows::json) r
on conflict (discovery, path) do update set
    raw_file_hash = excluded.raw_file_hash, url = excluded.url, size = excluded.size, modified = excluded.modified,
    last_at = excluded.last_at, gone_at = null,
    changed_at = case when (directory_listing.size, directory_listing.modified) is distinct from (excluded.size, excluded.modified)
        then excluded.last_at else directory_listing.changed_at end
returning coalesce(changed_at = last_at, false)::boolean as changed;

-- name: NoteGone :one
-- Notes which files a complete poll has not listed, and counts them.
with gone as (
    update record.directory_listing set gone_at = @begun_at::timestamptz where discovery = @discovery and last_at < @begun_at::timestamptz and gone_at is null returning 1
)
select count(*) from gone;

-- name: PutListed :exec
-- Keeps a file as its discovery says, in place of what was kept under its path.
insert into record.directory_listing (discovery, path, raw_file_hash, url, size, modified, first_at, last_at)
values (@discovery, @path, @raw_file_hash, @url, sqlc.narg(size), sqlc.narg(modified), @known_at, @known_at)
on conflict (discovery, path) do update set
    raw_file_hash = excluded.raw_file_hash, url = excluded.url, size = excluded.size, modified = excluded.modified,
    first_at = excluded.first_at, last_at = excluded.last_at, changed_at = null, gone_at = null;

-- name: RemoveListed :exec
delete from record.directory_listing where discovery = @discovery and path = @path;

-- name: ReadWhole :exec
-- Has the directory of a discovery read as a whole soon, whatever its server says of changes.
update record.discovery set etag = '', modified = null, next_at = clock_timestamp()
where url in (select d.url from record.discovery d where d.name = @name);

-- name: TryLead :one
select pg_try_advisory_lock(hashtextextended(@name::text, 3));

-- name: EndLead :exec
select pg_advisory_unlock(hashtextextended(@name::text, 3));
