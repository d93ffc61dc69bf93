-- name: LoadSlots :many
select * from accession.slot where id = any(@ids::text[]);

-- name: UpdateSlots :exec
-- Rows travel as one JSON array, with the column names as keys; there are few of them.
update accession.slot s set
    version = r.version,
    status = r.status,
    opens_at = r.opens_at,
    closes_at = r.closes_at,
    files_arrived = r.files_arrived,
    status_since = r.status_since,
    reason_class = r.reason_class,
    reason_code = r.reason_code,
    reason_message = r.reason_message,
    last_modified = r.last_modified,
    command_id = r.command_id
from json_populate_recordset(null::accession.slot, @rows::json) r
where s.id = r.id and s.version < r.version;

-- name: Slots :many
select * from report.slot_progress
where (@dataset::text = '' or dataset = @dataset) and (@of_all::boolean or dataset = any(@datasets::text[])) and (@status::text = '' or status = @status) and slot_id > @after
    and (@code::text = '' or reason_code = @code)
    and (sqlc.narg(since)::timestamptz is null or opens_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or opens_at < sqlc.narg(until))
order by slot_id
limit @max_rows;

-- name: SlotVersions :many
-- Slots as they are listed, with their versions; those that were made before a time.
select id, version from accession.slot
where (@dataset::text = '' or dataset = @dataset) and (@of_all::boolean or dataset = any(@datasets::text[])) and (@status::text = '' or status = @status) and id > @after
    and (@code::text = '' or reason_code = @code)
    and (sqlc.narg(since)::timestamptz is null or opens_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or opens_at < sqlc.narg(until))
    and (sqlc.narg(made_before)::timestamptz is null or created_at < sqlc.narg(made_before))
order by id
limit @max_rows;

-- name: SlotByID :one
select * from report.slot_progress where slot_id = @id;

-- name: SlotTransitions :many
select * from accession.slot_transition where slot_id = @id order by version;

-- name: FilesWithoutSlot :one
-- The files of a dataset that may yet become ready and whose group has no slot.
select count(*)::bigint as files
from accession.file f
where f.dataset = @dataset and f.job_id = '' and f.status in ('DISCOVERED', 'DOWNLOADING', 'DOWNLOADING_FAILED', 'DOWNLOADED')
    and not exists (select 1 from accession.slot s where s.dataset = f.dataset and s.group_name = f.group_name);

-- name: SlotsToMove :many
-- Slots whose window has begun or is over, and the files that have arrived in those that
-- end.
select s.id, s.closes_at,
    (case when s.closes_at <= @now then (select count(*) from accession.file f
        where f.dataset = s.dataset and f.group_name = s.group_name and f.job_id = '' and f.sha256 <> '') else 0 end)::bigint as files
from accession.slot s
where s.status in ('PENDING', 'ACTIVE') and s.id > @after
    and (s.status = 'PENDING' and s.opens_at <= @now or s.closes_at <= @now)
order by s.id
limit @max_rows;
