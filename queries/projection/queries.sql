-- name: LoadQueries :many
select * from accession.query where id = any(@ids::text[]);

-- name: UpdateQueries :exec
-- Rows travel as one JSON array, with the column names as keys; there are few of them.
update accession.query q set
    version = r.version,
    status = r.status,
    submitter = r.submitter,
    file_name = r.file_name,
    list_url = r.list_url,
    list_sha256 = r.list_sha256,
    size = r.size,
    lines = r.lines,
    wrong_lines = r.wrong_lines,
    format = r.format,
    recipients = r.recipients,
    within_collections = r.within_collections,
    within_own = r.within_own,
    received_at = r.received_at,
    grabbed_at = r.grabbed_at,
    processor = r.processor,
    ended_at = r.ended_at,
    found = r.found,
    not_found = r.not_found,
    answer_url = r.answer_url,
    answer_sha256 = r.answer_sha256,
    reason_class = r.reason_class,
    reason_code = r.reason_code,
    reason_message = r.reason_message,
    ticket_user = r.ticket_user,
    ticket_slot = r.ticket_slot,
    ticket_turn = r.ticket_turn,
    last_modified = r.last_modified,
    command_id = r.command_id
from json_populate_recordset(null::accession.query, @rows::json) r
where q.id = r.id and q.version < r.version;

-- name: Queries :many
select * from accession.query
where (@status::text = '' or status = @status) and (@submitter::text = '' or submitter = @submitter) and (@before::text = '' or id < @before)
    and (@code::text = '' or reason_code = @code)
    and (sqlc.narg(since)::timestamptz is null or received_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or received_at < sqlc.narg(until))
order by id desc
limit @max_rows;

-- name: QueryByID :one
select * from accession.query where id = @id;
