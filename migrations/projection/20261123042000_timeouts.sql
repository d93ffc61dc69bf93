-- The timeouts of attempts at files, a setting of the installation since issue 11.

-- +goose Up
alter table accession.setting
    add column download_seconds   bigint,
    add column processing_seconds bigint;
comment on table accession.setting is 'One row per setting that was ever set: how it stands now, and by whom.';
comment on column accession.setting.kind is 'collection (its batches and jobs wait in held), queue (nothing is claimed there) or timeouts (how long attempts at files may take).';
comment on column accession.setting.name is 'Name of the collection; for a queue ingest or a job state; files for the timeouts.';
comment on column accession.setting.status is 'held or open; of timeouts set or unset.';
comment on column accession.setting.download_seconds is 'Of timeouts: how long a download may take; null = each process takes its own configuration.';
comment on column accession.setting.processing_seconds is 'Of timeouts: how long processing may take; null = each process takes its own configuration.';

create or replace view report.overdue_files as
select f.batch_id, f.job_id, f.path, f.raw_file_hash, f.version, f.status,
       f.status_since as started_at,
       extract(epoch from clock_timestamp() - f.status_since)::double precision as seconds_running,
       (case f.status when 'DOWNLOADING' then f.download_attempts else f.processing_attempts end)::bigint as attempt,
       f.worker, f.size,
       (case f.status when 'DOWNLOADING' then s.download_seconds else s.processing_seconds end) as timeout_seconds
from accession.file f
left join accession.job j on j.id = f.job_id
left join accession.setting s on s.kind = 'timeouts' and s.name = 'files'
where f.status in ('DOWNLOADING', 'PROCESSING') and j.status is distinct from 'deleted';
comment on view report.overdue_files is 'One row per attempt under way, to be asked with a limit: those with seconds_running > timeout_seconds are overdue.';
comment on column report.overdue_files.timeout_seconds is 'How long such an attempt may take, the setting of the installation; a download of a job may take fetch.timeout of its profile, if that is longer. Null = it is not set, and each process takes its own configuration, which SQL does not know.';
