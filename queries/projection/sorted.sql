-- Lists in an order that is chosen. `by` names it: that in which the rows were made costs no more
-- among a million rows. Any other is computed for each row that the filter chooses, of which there
-- must be few. The key of a row is what it is sorted by, as text: numbers and times have as many
-- digits as any other, and rows without one come last in both directions.

-- name: SortedBatches :many
select sqlc.embed(s), k.key::text as key from report.batch_summary s
join accession.batch b on b.id = s.batch_id
cross join lateral (select lower(left(coalesce(case @by::text
    when 'status' then b.status when 'title' then coalesce(nullif(b.erc_what, ''), b.file_name) when 'submitter' then b.submitter when 'profile_name' then b.profile_name
    when 'rows_listed' then lpad(b.rows_listed::text, 20, '0') when 'jobs_completed' then lpad(b.jobs_completed::text, 20, '0') when 'jobs_failed' then lpad(b.jobs_failed::text, 20, '0')
    when 'files_listed' then lpad(s.files_listed::text, 20, '0') when 'bytes_listed' then lpad(s.bytes_listed::text, 20, '0')
    when 'submitted_at' then to_char(b.submitted_at at time zone 'UTC', 'YYYYMMDDHH24MISSUS') when 'reason' then b.reason_code || b.reason_message end, ''), 256)) collate "C" as key) k
where (@state::text = '' or b.status = @state)
    and (@profile::text = '' or b.profile_name = @profile) and (@collection::text = '' or b.collection = @collection)
    and (@submitter::text = '' or b.submitter = @submitter) and (@code::text = '' or b.reason_code = @code)
    and (@host::text = '' or b.id = any(array(select j.batch_id from accession.job j where j.host = @host)))
    and (sqlc.narg(since)::timestamptz is null or b.submitted_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or b.submitted_at < sqlc.narg(until))
    and (not @limited::boolean or b.collection = any(@collections::text[]) or @own::text <> '' and b.submitter = @own)
    and (@last::text = '' or case
        when @by = 'id' and not @down::boolean then b.id > @last
        when @by = 'id' then b.id < @last
        when k.key = @last_key::text then b.id < @last
        when k.key = '' or @last_key = '' then k.key = ''
        when @down then k.key < @last_key
        else k.key > @last_key end)
order by k.key = '', case when not @down then k.key end, case when @down then k.key end desc, case when @by = 'id' and not @down then b.id end, b.id desc
limit @max_rows;

-- name: SortedJobs :many
select sqlc.embed(j), k.key::text as key from accession.job j
cross join lateral (select lower(left(coalesce(case @by::text
    when 'batch_id' then j.batch_id when 'status' then j.status when 'status_since' then to_char(j.status_since at time zone 'UTC', 'YYYYMMDDHH24MISSUS')
    when 'title' then coalesce(nullif(j.erc_what, ''), j.file_name) when 'primary_identifier' then j.primary_identifier when 'collection' then j.collection
    when 'submitter' then j.submitter when 'files' then lpad(j.files::text, 20, '0') when 'bytes' then lpad(j.bytes::text, 20, '0')
    when 'retry_count' then lpad(j.retry_count::text, 20, '0') when 'reason' then j.reason_code || j.reason_message end, ''), 256)) collate "C" as key) k
where (@batch_id::text = '' or j.batch_id = @batch_id) and (@state::text = '' or j.status = @state)
    and (@profile::text = '' or j.profile_name = @profile) and (@collection::text = '' or j.collection = @collection)
    and (@submitter::text = '' or j.submitter = @submitter) and (@code::text = '' or j.reason_code = @code)
    and (@host::text = '' or j.host = @host)
    and (sqlc.narg(since)::timestamptz is null or j.created_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or j.created_at < sqlc.narg(until))
    and (not @limited::boolean or j.collection = any(@collections::text[]) or @own::text <> '' and j.submitter = @own)
    and (@last::text = '' or case
        when @by = 'id' and @down::boolean then j.id < @last
        when @by = 'id' or k.key = @last_key::text then j.id > @last
        when k.key = '' or @last_key = '' then k.key = ''
        when @down then k.key < @last_key
        else k.key > @last_key end)
order by k.key = '', case when not @down then k.key end, case when @down then k.key end desc, case when @by <> 'id' or not @down then j.id end, j.id desc
limit @max_rows;

-- name: SortedFiles :many
select sqlc.embed(f), k.key::text as key from accession.file f
cross join lateral (select lower(left(coalesce(case @by::text
    when 'path' then f.path when 'status' then f.status when 'status_since' then to_char(f.status_since at time zone 'UTC', 'YYYYMMDDHH24MISSUS')
    when 'job_id' then f.job_id when 'batch_id' then f.batch_id when 'dataset' then f.dataset when 'size' then lpad(greatest(f.size, f.listed_size)::text, 20, '0')
    when 'download_attempts' then lpad(f.download_attempts::text, 20, '0') when 'processing_attempts' then lpad(f.processing_attempts::text, 20, '0')
    when 'reason' then f.reason_code || f.reason_message when 'id' then f.raw_file_hash end, ''), 256)) collate "C" as key) k
where (@batch_id::text = '' or f.batch_id = @batch_id) and (@job_id::text = '' or f.job_id = @job_id)
    and (@state::text = '' or f.status = @state) and (@name::text = '' or strpos(f.path, @name) > 0)
    and (@profile::text = '' or f.profile_name = @profile) and (@collection::text = '' or f.collection = @collection)
    and (@submitter::text = '' or f.submitter = @submitter)
    and (@dataset::text = '' or f.dataset = @dataset) and (@group_name::text = '' or f.group_name = @group_name)
    and (@code::text = '' or f.reason_code = @code) and (@host::text = '' or f.host = @host)
    and (sqlc.narg(since)::timestamptz is null or f.discovered_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or f.discovered_at < sqlc.narg(until))
    and (not @limited::boolean or f.collection = any(@collections::text[]) or @own::text <> '' and f.submitter = @own)
    and (@last::text = '' or case
        when @by = 'discovered_at' and @down::boolean then f.seq < (select l.seq from accession.file l where l.raw_file_hash = @last)
        when @by = 'discovered_at' or k.key = @last_key::text then f.seq > (select l.seq from accession.file l where l.raw_file_hash = @last)
        when k.key = '' or @last_key = '' then k.key = ''
        when @down then k.key < @last_key
        else k.key > @last_key end)
order by k.key = '', case when not @down then k.key end, case when @down then k.key end desc, case when @by <> 'discovered_at' or not @down then f.seq end, f.seq desc
limit @max_rows;

-- name: CountListedFiles :one
select count(*) from (select from accession.file f
where (@batch_id::text = '' or f.batch_id = @batch_id) and (@job_id::text = '' or f.job_id = @job_id)
    and (@state::text = '' or f.status = @state) and (@name::text = '' or strpos(f.path, @name) > 0)
    and (@profile::text = '' or f.profile_name = @profile) and (@collection::text = '' or f.collection = @collection)
    and (@submitter::text = '' or f.submitter = @submitter)
    and (@dataset::text = '' or f.dataset = @dataset) and (@group_name::text = '' or f.group_name = @group_name)
    and (@code::text = '' or f.reason_code = @code) and (@host::text = '' or f.host = @host)
    and (sqlc.narg(since)::timestamptz is null or f.discovered_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or f.discovered_at < sqlc.narg(until))
    and (not @limited::boolean or f.collection = any(@collections::text[]) or @own::text <> '' and f.submitter = @own)
    limit @most) counted;
