-- name: DirectoryPages :many
-- What is known of the listings of a discovery.
select * from record.directory_page where discovery = @discovery and version = @version;

-- name: DropPages :exec
-- Forgets the listings of a discovery, but those that have not changed.
delete from record.directory_page where discovery = @discovery and not path = any(@unchanged::text[]);

-- name: KeepPages :exec
-- Keeps what is known of some listings.
insert into record.directory_page (discovery, path, version, url, etag, modified, files, left_out, below)
select r.discovery, r.path, r.version, r.url, r.etag, r.modified, r.files, r.left_out, r.below
from json_populate_recordset(null::record.directory_page, @rows::json) r
on conflict (discovery, path) do update set
    version = excluded.version, url = excluded.url, etag = excluded.etag, modified = excluded.modified,
    files = excluded.files, left_out = excluded.left_out, below = excluded.below;

-- name: KeepUnchanged :one
-- Notes that the files of some directories are listed still, and counts them.
with listed as (
    update record.directory_listing set last_at = @begun_at::timestamptz
    where discovery = @discovery and gone_at is null and regexp_replace(path, '[^/]*$', '') = any(@unchanged::text[]) returning 1
)
select count(*) from listed;
