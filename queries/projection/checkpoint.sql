-- name: CreateCheckpoint :exec
insert into accession.checkpoint (name, stream, stream_created, seq, epoch, last_event_id, last_command_id, updated_at, meaning)
values (@name, @stream, @stream_created, 0, 0, '', '', clock_timestamp(), @meaning)
on conflict (name) do nothing;

-- name: Checkpoint :one
select * from accession.checkpoint where name = @name;

-- name: BeginProjection :exec
-- Begins a projector's transaction: it locks the checkpoint and keeps PostgreSQL from
-- reading whole tables for an update, as it would while they are small or it has no
-- statistics of them: rows are found by their keys. A projector that is suspended must
-- not block the next one, hence the timeout. The settings end with the transaction.
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
    set_config('idle_in_transaction_session_timeout', '5s', true)
from accession.checkpoint where name = @name for no key update;

-- name: BeginRebuild :exec
-- Begins a transaction of a rebuild, with the planner settings of BeginProjection. The
-- tables can be rebuilt: no need to wait for the disk each time.
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
    set_config('synchronous_commit', 'off', true);

-- name: RenameCheckpoint :exec
-- Renames the checkpoints of tables that a rebuild replaces, so that a
-- projector which waited for the lock stops.
update accession.checkpoint set name = name || ' until it was replaced';

-- name: MoveCheckpoint :one
-- The fence: no row moves when another projector has moved it before. Returns how
-- many events are held, and which generation of the table it is, which a rebuild changes.
update accession.checkpoint set
    seq = @to_seq, epoch = @to_epoch, last_event_id = @last_event_id, last_command_id = @last_command_id,
    last_stored = @last_stored::timestamptz, updated_at = clock_timestamp()
where checkpoint.name = @name and checkpoint.seq = @from_seq and checkpoint.epoch = @from_epoch
    and checkpoint.stream = @stream and checkpoint.stream_created = @stream_created
    and checkpoint.meaning = @meaning
returning (select count(*) from accession.poison_event p where p.name = @name) as held_count,
    checkpoint.tableoid::bigint as generation;

-- name: Notify :exec
-- One for each transaction; the payload is the sequence of its last event.
select pg_notify('accession_projected', @seq);

-- name: Projected :one
select seq from accession.checkpoint where name = @name;

-- name: ProjectedVersion :one
-- The version that an aggregate has reached here, 0 = none.
select coalesce(
    (select b.version from accession.batch b where @kind::text = 'batch' and b.id = @id),
    (select j.version from accession.job j where @kind::text = 'job' and j.id = @id),
    (select f.version from accession.file f where @kind::text = 'file' and f.raw_file_hash = @id),
    (select q.version from accession.query q where @kind::text = 'query' and q.id = @id),
    (select s.version from accession.slot s where @kind::text = 'slot' and s.id = @id),
    (select e.version from accession.compute_entry e where @kind::text = 'entry' and e.id = @id),
    (select t.version from accession.setting t where @kind::text = 'setting' and t.kind || ':' || t.name = @id),
    0)::bigint as version;
