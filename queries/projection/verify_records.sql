-- What schema record keeps of entries and of open directories, as far as the log says what
-- it should be: at most 20 rows of each fault.

-- name: BrokenResults :many
-- Entries whose result the records lack, or have otherwise than it was kept, and results of
-- entries that the tables do not have.
(
    select 'missing'::text as fault, c.id::text as entry_id, ('SHA-256 ' || c.result_sha256)::text as expected,
        coalesce((select 'SHA-256 ' || string_agg(distinct r.sha256, ', ') from record.compute_result r where r.entry_id = c.id), 'nothing')::text as found
    from accession.compute_entry c
    where c.result_sha256 is not null and not exists (select from record.compute_result r where r.entry_id = c.id and r.sha256 = c.result_sha256)
    order by c.id limit 20
) union all (
    select 'wrong', c.id, format('key %s, exit status %s, worker %s, attempt %s, claim %s, content %s', c.key, c.exit_status, c.worker, c.attempt, k.claim, r.kept_sha256),
        format('key %s, exit status %s, worker %s, attempt %s, claim %s, content %s', r.key, r.exit_status, r.worker, r.attempt, r.claim, r.is_sha256)
    from accession.compute_entry c
    cross join lateral (select c.version - case when c.status = 'PURGED' then 2 else 1 end as claim) k
    cross join lateral (
        select o.*, encode(sha256(convert_to(o.result::text || o.outputs::text, 'UTF8')), 'hex') as is_sha256
        from record.compute_result o where o.entry_id = c.id and o.sha256 = c.result_sha256 order by (o.claim = k.claim) desc, o.kept_at desc limit 1
    ) r
    where (r.key, r.exit_status, r.worker, r.attempt) is distinct from (c.key, c.exit_status, c.worker, c.attempt)
        or r.claim not in (0, k.claim) or r.kept_sha256 <> r.is_sha256
    order by c.id limit 20
) union all (
    select distinct 'unknown', r.entry_id, 'nothing', 'a result'
    from record.compute_result r
    where not exists (select from accession.compute_entry c where c.id = r.entry_id)
    order by 2 limit 20
);

-- name: BrokenListings :many
-- Files of open directories that these list no row of, and rows that are of no file, of
-- another one, or contradict themselves; known is the file that became known under the path.
-- While a directory is polled, and after a poll that was cut off, its files may have no row yet.
(
    select 'missing'::text as fault, d.name::text as discovery, f.path::text as path, f.raw_file_hash::text as raw_file_hash, 'nothing'::text as found, f.raw_file_hash as known
    from (
        select distinct on (k.source, k.path) k.source, k.path, k.raw_file_hash, k.discovered_at
        from accession.file k where k.job_id = '' order by k.source, k.path, k.discovered_at desc
    ) f
    cross join lateral (select min(n.name) as name, bool_and(n.complete_at is not null and n.ended_at >= n.begun_at) as polled from record.discovery n where n.url = f.source) d
    where d.polled
        and not exists (select from record.directory_listing l join record.discovery o on o.name = l.discovery where o.url = f.source and l.path = f.path)
    order by 2, 3 limit 20
) union all (
    select case when f.raw_file_hash is null then 'unknown' else 'wrong' end, l.discovery, l.path, l.raw_file_hash,
        case when f.raw_file_hash is null then 'a file that is not known' when f.job_id <> '' or f.path <> l.path then 'the file ' || f.path else 'times that contradict each other' end,
        coalesce((select k.raw_file_hash from record.discovery d join accession.file k on k.source = d.url and k.path = l.path and k.job_id = '' where d.name = l.discovery order by k.discovered_at desc limit 1), '')
    from record.directory_listing l left join accession.file f on f.raw_file_hash = l.raw_file_hash
    where f.raw_file_hash is null or f.job_id <> '' or f.path <> l.path
        or l.last_at < l.first_at or l.changed_at < l.first_at or l.changed_at > l.last_at or l.gone_at <= l.last_at
    order by 2, 3 limit 20
);
