-- Who made a slot: an operator, or a daemon from the name of its group.

-- +goose Up
create or replace view report.slot_progress as
select s.id as slot_id, s.dataset, s.group_name, s.status, s.opens_at, s.closes_at, s.status_since, s.reason_class, s.reason_code, s.reason_message,
    f.files, f.files_arrived, f.files_waiting, f.files_ready, f.files_processed, f.files_skipped, f.files_given_up, f.bytes_arrived,
    coalesce(t.actor, '')::text as made_by
from accession.slot s
left join lateral (
    select count(*) as files,
        count(*) filter (where r.sha256 <> '') as files_arrived,
        count(*) filter (where r.status = 'DOWNLOADED') as files_waiting,
        count(*) filter (where r.status in ('READY', 'PROCESSING', 'PROCESSING_FAILED')) as files_ready,
        count(*) filter (where r.status = 'PROCESSED') as files_processed,
        count(*) filter (where r.status = 'SKIPPED') as files_skipped,
        count(*) filter (where r.status in ('IGNORE', 'ABANDONED')) as files_given_up,
        coalesce(sum(r.size) filter (where r.sha256 <> ''), 0)::bigint as bytes_arrived
    from accession.file r where r.dataset = s.dataset and r.group_name = s.group_name and r.job_id = ''
) f on true
left join accession.slot_transition t on t.slot_id = s.id and t.version = 1;
comment on column report.slot_progress.made_by is 'Who made the slot: an operator, or a daemon that made it from the name of its group.';
