-- Of a file of a job: which version of its object the job stored.

-- +goose Up
create or replace view report.file as
select f.raw_file_hash, f.path, f.job_id, f.batch_id, f.status,
       coalesce(nullif(f.collection, ''), j.collection, '')::text as collection, coalesce(nullif(f.profile_name, ''), j.profile_name, '')::text as profile_name,
       coalesce(j.submitter, '')::text as submitter, coalesce(j.primary_identifier, '')::text as primary_identifier, f.dataset, f.group_name,
       coalesce(nullif(f.host, ''), substring(f.url from '^https?://([^/?#]+)'), '')::text as host, f.url, f.source, f.size, f.sha256, f.source_modified,
       f.download_attempts, f.processing_attempts, f.discovered_at, f.status_since, f.download_started_at, f.processing_started_at,
       f.reason_class, f.reason_code, f.reason_message,
       a.failures, a.uncounted,
       a.first_failed_at, a.first_class, a.first_code, a.first_message, a.last_failed_at, a.last_class, a.last_code, a.last_message,
       (case when f.status in ('PROCESSED', 'SKIPPED') or j.status = 'deleted' then 'none'
             when f.status in ('IGNORE', 'ABANDONED') then coalesce(nullif(f.reason_who_acts, ''), case f.reason_class when 'content' then 'depositor' when 'cancelled' then 'none' when 'wait' then 'service' else 'operator' end)
             else 'service' end)::text as who_acts,
       j.object_version
from accession.file f
left join accession.job j on j.id = f.job_id
left join lateral (
    select count(*) as failures, count(*) filter (where r.uncounted) as uncounted,
           min(r.failed_at)::timestamptz as first_failed_at, (array_agg(r.class order by r.number))[1]::text as first_class,
           (array_agg(r.code order by r.number))[1]::text as first_code, (array_agg(r.message order by r.number))[1]::text as first_message,
           max(r.failed_at)::timestamptz as last_failed_at, (array_agg(r.class order by r.number desc))[1]::text as last_class,
           (array_agg(r.code order by r.number desc))[1]::text as last_code, (array_agg(r.message order by r.number desc))[1]::text as last_message
    from accession.retry r where r.raw_file_hash = f.raw_file_hash and r.kind = 'file'
) a on true;
comment on column report.file.object_version is 'Version of the object that its job stored; null until then, and for files without a job.';
