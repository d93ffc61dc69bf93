-- name: LoadSettings :many
select * from accession.setting where kind || ':' || name = any(@ids::text[]);

-- name: UpsertSettings :exec
-- Rows travel as one JSON array, with the column names as keys; there are few of them.
insert into accession.setting (
    kind, name, version, status, held_by, held_when, held_why, why, changed_at, changed_by,
    download_seconds, processing_seconds, value
)
select
    r.kind, r.name, r.version, r.status, r.held_by, r.held_when, r.held_why, r.why, r.changed_at, r.changed_by,
    r.download_seconds, r.processing_seconds, r.value
from json_populate_recordset(null::accession.setting, @rows::json) r
on conflict (kind, name) do update set
    version = excluded.version, status = excluded.status, held_by = excluded.held_by,
    held_when = excluded.held_when, held_why = excluded.held_why, why = excluded.why,
    changed_at = excluded.changed_at, changed_by = excluded.changed_by,
    download_seconds = excluded.download_seconds, processing_seconds = excluded.processing_seconds,
    value = excluded.value
where setting.version < excluded.version;

-- name: SettingsOfKind :many
-- What is set of a kind of settings, by name.
select * from accession.setting where kind = @kind::text and status = 'set' order by name;

-- name: SettingsMadeSince :many
-- The names of the settings of a kind whose first event came at a time or later.
select s.name from accession.setting s
join accession.event e on e.aggregate_id = s.kind || ':' || s.name and e.kind = 'setting' and e.version = 1
where s.kind = @kind::text and e.time >= @since;
