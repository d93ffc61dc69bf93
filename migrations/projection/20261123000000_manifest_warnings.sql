-- What of a manifest was not taken as it is written, from the events that say it: no
-- table of its own, so that older tables have it too.

-- +goose Up
create view report.manifest_warning as
select e.batch_id, (case e.kind when 'job' then e.aggregate_id else '' end)::text as job_id, w.number::bigint as number, w.warning::text as warning,
       e.stored as at, e.seq
from accession.event e
cross join lateral jsonb_array_elements_text(case jsonb_typeof(e.data -> 'warnings') when 'array' then e.data -> 'warnings' else '[]' end)
    with ordinality as w (warning, number)
where e.type in ('batch.listed', 'job.accepted') and e.data ? 'warnings'
    and not exists (select from accession.event l where l.aggregate_id = e.aggregate_id and l.version > e.version and l.type = e.type);
comment on view report.manifest_warning is 'One row per warning about a manifest: what of it was not taken as it is written.';
comment on column report.manifest_warning.batch_id is 'Its batch.';
comment on column report.manifest_warning.job_id is 'The job whose object manifest it is; empty = the manifest of the batch.';
comment on column report.manifest_warning.number is 'Orders the warnings about one manifest, from 1.';
comment on column report.manifest_warning.warning is 'The warning, one sentence for people.';
comment on column report.manifest_warning.at is 'When the log took the event.';
comment on column report.manifest_warning.seq is 'Sequence of the event in the log.';

-- Manifests with a warning are few among the events.
create index event_warnings on accession.event (batch_id, aggregate_id) where type in ('batch.listed', 'job.accepted') and data ? 'warnings';
