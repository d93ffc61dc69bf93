-- Rows in the order of their keys, a page at a time, to be compared with the log.

-- name: BatchesAfter :many
select * from accession.batch where id > @after and version > 0 order by id limit @max_rows;

-- name: JobsAfter :many
select * from accession.job where id > @after order by id limit @max_rows;

-- name: FilesAfter :many
select * from accession.file where raw_file_hash > @after order by raw_file_hash limit @max_rows;

-- name: AllSettings :many
select * from accession.setting order by kind, name;

-- name: EventsFrom :many
-- Of one epoch of the stream, in the order of the log.
select * from accession.event where seq >= @seq order by seq, epoch limit @max_rows;

-- name: AdoptStream :execrows
-- The stream that the checkpoint tells of was lost; another holds the same events at
-- the same places.
update accession.checkpoint set stream = @stream, stream_created = @stream_created where name = @name;

-- name: PoisonedAggregates :many
-- The event of each aggregate that could not be applied, of every projection.
select kind, aggregate_id, seq, error from accession.poison_event where waits_for is null;
