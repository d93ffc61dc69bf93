-- The history as an index: where in the log events of a batch or a job stand, so
-- that a reader of the log can leave out the rest. Sequences closer together than
-- @gap are one interval. Events that wait for an operator are in no history yet;
-- their sequences are always among those given.

-- name: BatchIntervals :many
select min(seq)::bigint as first, max(seq)::bigint as last
from (
    select seq, sum(case when seq - before <= @gap::bigint then 0 else 1 end) over (order by seq) as interval_number
    from (
        select seq, lag(seq) over (order by seq) as before
        from (
            select e.seq from accession.event e where e.batch_id = @batch_id
            union
            select p.seq from accession.poison_event p
        ) as all_seqs
    ) as with_before
) as intervals
group by interval_number
order by first;

-- name: JobIntervals :many
-- The job's own events and those of its files.
select min(seq)::bigint as first, max(seq)::bigint as last
from (
    select seq, sum(case when seq - before <= @gap::bigint then 0 else 1 end) over (order by seq) as interval_number
    from (
        select seq, lag(seq) over (order by seq) as before
        from (
            select e.seq from accession.event e where e.aggregate_id = @job_id
            union
            select e.seq from accession.event e
            join accession.file f on f.raw_file_hash = e.aggregate_id where f.job_id = @job_id
            union
            select p.seq from accession.poison_event p
        ) as all_seqs
    ) as with_before
) as intervals
group by interval_number
order by first;
