-- Rows in the order of their keys, a page at a time, to be compared with the log.

-- name: BatchesAfter :many
select * from accession.batch where id > @after and version > 0 order by id limit @max_rows;

-- name: JobsAfter :many
select * from accession.job where id > @after order by id limit @max_rows;

-- name: FilesAfter :many
select * from accession.file where raw_file_hash > @after order by raw_file_hash limit @max_rows;

-- name: QueriesAfter :many
select * from accession.query where id > @after order by id limit @max_rows;

-- name: SlotsAfter :many
select * from accession.slot where id > @after order by id limit @max_rows;

-- name: ComputeEntriesAfter :many
select * from accession.compute_entry where id > @after order by id limit @max_rows;

-- name: AllSettings :many
select * from accession.setting order by kind, name;

-- name: EventsFrom :many
-- Of one epoch of the stream, in the order of the log.
select * from accession.event where seq >= @seq order by seq, epoch limit @max_rows;

-- name: AdoptStream :execrows
-- The stream that the checkpoint names was lost; another holds the same events at
-- the same sequences.
update accession.checkpoint set stream = @stream, stream_created = @stream_created where name = @name;

-- name: PoisonedAggregates :many
-- The event of each aggregate that could not be applied, of every projection.
select kind, aggregate_id, seq, error from accession.poison_event where waits_for is null;

-- name: BrokenSums :many
-- What does not add up in the tables, at most 20 rows of each rule: batches and files
-- add up, and the counters and histories kept with each event equal those of their rows.
(
    select 'a batch adds up'::text as rule, 'batch'::text as table_name, id::text as key,
        (rows_listed || ' jobs listed')::text as expected,
        ((jobs_completed + jobs_failed + jobs_held + jobs_deleted + jobs_in_progress) || ' counted')::text as found
    from accession.batch
    where rows_listed <> jobs_completed + jobs_failed + jobs_held + jobs_deleted + jobs_in_progress
    order by key limit 20
) union all (
    select 'a batch counts its jobs', 'batch', b.id,
        format('%s failed, %s completed, %s held, %s deleted', j.failed, j.completed, j.held, j.deleted),
        format('%s failed, %s completed, %s held, %s deleted', b.jobs_failed, b.jobs_completed, b.jobs_held, b.jobs_deleted)
    from accession.batch b, lateral (
        select count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'completed') as completed,
            count(*) filter (where status = 'held') as held, count(*) filter (where status = 'deleted') as deleted
        from accession.job where batch_id = b.id
    ) j
    where (b.jobs_failed, b.jobs_completed, b.jobs_held, b.jobs_deleted) <> (j.failed, j.completed, j.held, j.deleted)
    order by b.id limit 20
) union all (
    select 'each change of a job has its row', 'job_transition', e.aggregate_id || '/' || e.version, 'a row', 'none'
    from accession.event e
    where e.kind = 'job' and e.data ->> 'from' is distinct from e.data ->> 'to'
        and not exists (select from accession.job_transition t where t.job_id = e.aggregate_id and t.version = e.version)
    order by 3 limit 20
) union all (
    select 'each change of a file has its row', 'file_transition', e.aggregate_id || '/' || e.version, 'a row', 'none'
    from accession.event e
    where e.kind = 'file'
        and not exists (select from accession.file_transition t where t.raw_file_hash = e.aggregate_id and t.version = e.version)
    order by 3 limit 20
) union all (
    select 'a failed job has an open attempt', 'retry', j.id, 'an open attempt', 'none'
    from accession.job j
    where j.status = 'failed' and not exists (
        select from accession.retry r where r.kind = 'job' and r.job_id = j.id and r.outcome = 'open' and r.resumed_at is null)
    order by j.id limit 20
) union all (
    select 'a failed file has an open attempt', 'retry', f.raw_file_hash, 'an open attempt', 'none'
    from accession.file f
    where f.status in ('DOWNLOADING_FAILED', 'PROCESSING_FAILED') and not exists (
        select from accession.retry r where r.raw_file_hash = f.raw_file_hash and r.number = f.version and r.outcome = 'open')
    order by f.raw_file_hash limit 20
) union all (
    select 'files add up', 'file_count', id, files_listed || ' files listed',
        (files_processed + files_skipped + files_given_up + files_deleted + files_in_progress) || ' counted'
    from accession.file_count
    where files_listed <> files_processed + files_skipped + files_given_up + files_deleted + files_in_progress
    order by id limit 20
) union all (
    select 'files are counted', 'file_count', c.id,
        format('%s files of %s bytes', f.files, f.bytes), format('%s files of %s bytes', c.files_listed, c.bytes_listed)
    from accession.file_count c, lateral (
        select count(*) as files, coalesce(sum(f.size), 0) as bytes from accession.file f
        where f.job_id <> '' and (f.job_id = c.id or f.batch_id = c.id)
    ) f
    where c.files_listed <> f.files or c.bytes_listed <> f.bytes
    order by c.id limit 20
) union all (
    select 'states of files are counted', 'file_count', c.id,
        format('%s processed, %s skipped, %s given up', f.processed, f.skipped, f.given_up),
        format('%s processed, %s skipped, %s given up', c.files_processed, c.files_skipped, c.files_given_up)
    from accession.file_count c join accession.job j on j.id = c.id, lateral (
        select count(*) filter (where f.status = 'PROCESSED') as processed, count(*) filter (where f.status = 'SKIPPED') as skipped,
            count(*) filter (where f.status in ('IGNORE', 'ABANDONED')) as given_up
        from accession.file f where f.job_id = c.id
    ) f
    where j.status <> 'deleted' and (c.files_processed <> f.processed or c.files_skipped <> f.skipped or c.files_given_up <> f.given_up)
    order by c.id limit 20
) union all (
    select 'a file is of its job''s submitter', 'file', f.raw_file_hash, j.submitter, f.submitter
    from accession.file f join accession.job j on j.id = f.job_id
    where f.submitter <> j.submitter
    order by f.raw_file_hash limit 20
) union all (
    select 'each grab has its row', 'deposit', e.aggregate_id || '/' || e.version, 'turn ' || (e.data -> 'ticket' ->> 'turn'), 'none'
    from accession.event e
    where e.type in ('batch.grabbed', 'query.grabbed') and not exists (
        select from accession.deposit d where d.batch_id = e.aggregate_id and d.turn = (e.data -> 'ticket' ->> 'turn')::bigint)
    order by 3 limit 20
) union all (
    select 'a batch in a deposit queue has its row', 'deposit', b.id, format('turn %s of %s', b.ticket_turn, b.ticket_user), 'none'
    from accession.batch b
    where b.ticket_queue is not null and not exists (
        select from accession.deposit d where d.batch_id = b.id and d.ended_at is null and d.turn = b.ticket_turn and d.user_name = b.ticket_user and d.synchronous = coalesce(b.ticket_synchronous, false))
    order by b.id limit 20
) union all (
    select 'a query in its deposit queue has its row', 'deposit', q.id, format('turn %s of %s', q.ticket_turn, q.ticket_user), 'none'
    from accession.query q
    where q.ticket_user is not null and not exists (
        select from accession.deposit d where d.batch_id = q.id and d.ended_at is null and d.turn = q.ticket_turn and d.user_name = q.ticket_user)
    order by q.id limit 20
) union all (
    select 'a deposit in a queue has its batch or query', 'deposit', d.batch_id || '/' || d.number, 'turn ' || d.turn, coalesce('turn ' || coalesce(b.ticket_turn, q.ticket_turn), 'none')
    from accession.deposit d left join accession.batch b on b.id = d.batch_id left join accession.query q on q.id = d.batch_id
    where d.ended_at is null and d.turn is distinct from coalesce(b.ticket_turn, q.ticket_turn)
    order by d.batch_id limit 20
) union all (
    select 'each change of a slot is that of its event', 'slot_transition', coalesce(e.id || '/' || e.version, t.slot_id || '/' || t.version), coalesce(e.change::text, 'none'), coalesce(t.change::text, 'none')
    from (
        select v.aggregate_id as id, v.version, jsonb_build_array(v.seq, v.data ->> 'dataset', v.data ->> 'group', v.data ->> 'from', v.data ->> 'to',
            lag(date_trunc('milliseconds', v.stored)) over (partition by v.aggregate_id order by v.version), date_trunc('milliseconds', v.stored), v.actor,
            (v.data ->> 'opens')::timestamptz, (v.data ->> 'closes')::timestamptz, coalesce((v.data ->> 'files')::bigint, 0),
            v.data -> 'reason' ->> 'class', v.data -> 'reason' ->> 'code', v.data -> 'reason' ->> 'message') as change
        from accession.event v where v.kind = 'slot'
    ) e full join (
        select s.slot_id, s.version, jsonb_build_array(s.seq, s.dataset, s.group_name, s.from_status, s.to_status,
            s.from_since, s.at, s.actor, s.opens_at, s.closes_at, s.files_arrived, s.reason_class, s.reason_code, s.reason_message) as change
        from accession.slot_transition s
    ) t on t.slot_id = e.id and t.version = e.version
    where e.change is distinct from t.change
    order by 3 limit 20
) union all (
    select 'a slot was made by its first event', 'slot', s.id, date_trunc('milliseconds', e.stored)::text, s.created_at::text
    from accession.slot s join accession.event e on e.aggregate_id = s.id and e.version = 1 and e.kind = 'slot'
    where s.created_at <> date_trunc('milliseconds', e.stored)
    order by s.id limit 20
) union all (
    select 'an entry has the worker and times of its events', 'compute_entry', c.id,
        format('worker %s, claimed %s, ended %s', t.worker, t.time, z.time), format('worker %s, claimed %s, ended %s', c.worker, c.claimed_at, c.ended_at)
    from accession.compute_entry c
    left join (
        select distinct on (e.aggregate_id) e.aggregate_id, e.data ->> 'worker' as worker, e.time
        from accession.event e where e.kind = 'entry' and e.type = 'entry.claimed' order by e.aggregate_id, e.version desc
    ) t on t.aggregate_id = c.id
    left join (
        select distinct on (e.aggregate_id) e.aggregate_id, case when e.type <> 'entry.returned' then e.time end as time
        from accession.event e where e.kind = 'entry' and e.type in ('entry.completed', 'entry.failed', 'entry.returned') order by e.aggregate_id, e.version desc
    ) z on z.aggregate_id = c.id
    where (c.worker, c.claimed_at, c.ended_at) is distinct from (t.worker, t.time, z.time)
    order by c.id limit 20
) union all (
    select 'a setting is as its last change says', 'setting', s.kind || ':' || s.name, format('%s by %s at %s: %s', e.to_status, e.actor, e.time, e.why), format('%s by %s at %s: %s', s.status, s.changed_by, s.changed_at, s.why)
    from accession.setting s join (
        select distinct on (c.aggregate_id) c.aggregate_id, c.data ->> 'to' as to_status, coalesce(c.data ->> 'why', '') as why, c.actor, c.time
        from accession.event c where c.kind = 'setting' and c.type = 'setting.changed' order by c.aggregate_id, c.version desc
    ) e on e.aggregate_id = s.kind || ':' || s.name
    where (s.status, s.changed_by, s.changed_at, s.why) is distinct from (e.to_status, e.actor, e.time, e.why)
    order by 3 limit 20
);
