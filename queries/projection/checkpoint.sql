-- name: CreateCheckpoint :exec
insert into accession.checkpoint (name, stream, stream_created, seq, epoch, last_event_id, last_command_id, updated_at, meaning)
values (@name, @stream, @stream_created, 0, 0, '', '', clock_timestamp(), @meaning)
on conflict (name) do nothing;

-- name: Checkpoint :one
select * from accession.checkpoint where name = @name;

-- name: MoveCheckpoint :one
-- The fence: no row moves when another projector has moved it before. Tells how
-- many events are held, and the number of the table, which a rebuild changes.
update accession.checkpoint set
    seq = @to_seq, epoch = @to_epoch, last_event_id = @last_event_id, last_command_id = @last_command_id,
    last_stored = @last_stored::timestamptz, updated_at = clock_timestamp()
where checkpoint.name = @name and checkpoint.seq = @from_seq and checkpoint.epoch = @from_epoch
    and checkpoint.stream = @stream and checkpoint.stream_created = @stream_created
    and checkpoint.meaning = @meaning
returning (select count(*) from accession.poison_event p where p.name = @name) as held,
    checkpoint.tableoid::bigint as generation;

-- name: Notify :exec
-- One for each transaction; the payload is the place of its last event.
select pg_notify('accession_projected', @seq);

-- name: Projected :one
select seq from accession.checkpoint where name = @name;

-- name: ProjectedVersion :one
-- The version that an aggregate has reached here, 0 = none.
select coalesce(
    (select b.version from accession.batch b where @kind::text = 'batch' and b.id = @id),
    (select j.version from accession.job j where @kind::text = 'job' and j.id = @id),
    (select f.version from accession.file f where @kind::text = 'file' and f.raw_file_hash = @id),
    (select s.version from accession.setting s where @kind::text = 'setting' and s.kind || ':' || s.name = @id),
    0)::bigint as version;
