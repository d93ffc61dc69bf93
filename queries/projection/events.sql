-- name: MakeEventPartitions :exec
select accession.make_event_partitions('accession.event'::regclass, @seq);

-- name: EventsAt :many
select * from accession.event where seq = any(@seqs::bigint[]) order by seq;
