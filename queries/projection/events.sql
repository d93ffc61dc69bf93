-- Rows travel as one JSON array, with the column names as keys: it keeps nulls and
-- arrays, which several array parameters would lose.

-- name: InsertEvents :exec
insert into accession.event (
    epoch, seq, id, type, kind, aggregate_id, version, batch_id, actor, command_id, causation_id,
    trace_parent, zxid, time, stored, data
)
select
    r.epoch, r.seq, r.id, r.type, r.kind, r.aggregate_id, r.version, r.batch_id, r.actor, r.command_id,
    r.causation_id, r.trace_parent, r.zxid, r.time, r.stored, r.data
from json_populate_recordset(null::accession.event, @rows::json) r;

-- name: MakeEventPartitions :exec
select accession.make_event_partitions('accession.event'::regclass, @seq);
