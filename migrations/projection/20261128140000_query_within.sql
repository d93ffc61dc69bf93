-- Queries of users who see only some collections find only what these have.

-- +goose Up
alter table accession.query
    add column within_collections text[],
    add column within_own boolean not null default false;
comment on column accession.query.within_collections is 'Collections in which things are found, those that its submitter was allowed to see; null = everything is found.';
comment on column accession.query.within_own is 'Whether things are found too that its submitter has deposited in other collections.';

create or replace view report.query as
select q.id as query_id, q.status, q.submitter, q.file_name, q.list_url, q.list_sha256, q.size, q.lines, q.wrong_lines, q.received_at, q.grabbed_at, q.processor, q.ended_at, q.found, q.not_found, q.answer_url, q.answer_sha256, q.reason_class, q.reason_code, q.reason_message,
    extract(epoch from q.grabbed_at - q.received_at)::double precision as seconds_waiting,
    extract(epoch from q.ended_at - q.grabbed_at)::double precision as seconds_running,
    case when q.format = '' then 'text' else q.format end as format, q.recipients, d.turn, d.rule, q.within_collections, q.within_own
from accession.query q left join accession.deposit d on d.batch_id = q.id and d.turn > 0;
comment on column report.query.within_collections is 'Collections in which things are found, those that its submitter was allowed to see; null = everything is found.';
comment on column report.query.within_own is 'Whether things are found too that its submitter has deposited in other collections.';
