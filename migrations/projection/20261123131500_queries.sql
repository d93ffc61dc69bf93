-- Lists of identifiers that users ask about.

-- +goose Up
create table accession.query (
    id             text primary key,
    version        bigint not null,
    status         text not null,
    submitter      text not null,
    file_name      text not null,
    list_url       text not null,
    list_sha256    text not null,
    size           bigint not null,
    lines          bigint not null,
    wrong_lines    bigint not null,
    received_at    timestamptz not null,
    grabbed_at     timestamptz,
    processor      text,
    ended_at       timestamptz,
    found          bigint,
    not_found      bigint,
    answer_url     text,
    answer_sha256  text,
    reason_class   text,
    reason_code    text,
    reason_message text,
    ticket_user    text,
    ticket_slot    bigint,
    ticket_turn    bigint,
    last_modified  timestamptz not null,
    command_id     text not null
);
create index query_submitter on accession.query (submitter, id);
create index query_status on accession.query (status, id);
comment on table accession.query is 'One row per query: a list of identifiers that waits for its turn to be answered.';
comment on column accession.query.id is 'Query id.';
comment on column accession.query.version is 'Number of its last event.';
comment on column accession.query.status is 'received, parked, grabbed, answered or failed.';
comment on column accession.query.submitter is 'Who asks.';
comment on column accession.query.file_name is 'File name of the list; empty = it came from the standard input.';
comment on column accession.query.list_url is 'The list in the object store.';
comment on column accession.query.list_sha256 is 'SHA-256 of the list, in hex.';
comment on column accession.query.size is 'Bytes of the list.';
comment on column accession.query.lines is 'Lines that ask for something.';
comment on column accession.query.wrong_lines is 'Those of them that cannot be looked up.';
comment on column accession.query.received_at is 'When it was accepted.';
comment on column accession.query.grabbed_at is 'When a processor grabbed it; null = not yet.';
comment on column accession.query.processor is 'That processor.';
comment on column accession.query.ended_at is 'When it was answered or failed; null = not yet.';
comment on column accession.query.found is 'Lines of which something is known; null = not answered.';
comment on column accession.query.not_found is 'Lines of which nothing is known.';
comment on column accession.query.answer_url is 'The answers in the object store, one a line as JSON.';
comment on column accession.query.answer_sha256 is 'SHA-256 of the answers, in hex.';
comment on column accession.query.reason_class is 'Who must act on the reason why it failed or is parked; null = there is none.';
comment on column accession.query.reason_code is 'Code of that reason.';
comment on column accession.query.reason_message is 'Sentence of that reason.';
comment on column accession.query.ticket_user is 'Whose turn it waits for, or among whose running queries it counts; null = it does neither.';
comment on column accession.query.ticket_slot is 'Slot of the user in the ring.';
comment on column accession.query.ticket_turn is 'Turn in which it was grabbed; 0 = it waits.';
comment on column accession.query.last_modified is 'When it last changed, by the clock of the writer.';
comment on column accession.query.command_id is 'Command that wrote its last event.';

create view report.query as
select q.id as query_id, q.status, q.submitter, q.file_name, q.list_url, q.list_sha256, q.size, q.lines, q.wrong_lines, q.received_at, q.grabbed_at, q.processor, q.ended_at, q.found, q.not_found, q.answer_url, q.answer_sha256, q.reason_class, q.reason_code, q.reason_message,
    extract(epoch from q.grabbed_at - q.received_at)::double precision as seconds_waiting,
    extract(epoch from q.ended_at - q.grabbed_at)::double precision as seconds_running
from accession.query q;
comment on view report.query is 'One row per query: who asks, where it stands, and how its lines were answered.';
comment on column report.query.query_id is 'Query id.';
comment on column report.query.status is 'received, parked, grabbed, answered or failed.';
comment on column report.query.submitter is 'Who asks.';
comment on column report.query.file_name is 'File name of the list; empty = it came from the standard input.';
comment on column report.query.list_url is 'The list in the object store.';
comment on column report.query.list_sha256 is 'SHA-256 of the list, in hex.';
comment on column report.query.size is 'Bytes of the list.';
comment on column report.query.lines is 'Lines that ask for something.';
comment on column report.query.wrong_lines is 'Those of them that cannot be looked up.';
comment on column report.query.received_at is 'When it was accepted.';
comment on column report.query.grabbed_at is 'When a processor grabbed it; null = not yet.';
comment on column report.query.processor is 'That processor.';
comment on column report.query.ended_at is 'When it was answered or failed; null = not yet.';
comment on column report.query.found is 'Lines of which something is known; null = not answered.';
comment on column report.query.not_found is 'Lines of which nothing is known.';
comment on column report.query.answer_url is 'The answers in the object store, one a line as JSON.';
comment on column report.query.answer_sha256 is 'SHA-256 of the answers, in hex.';
comment on column report.query.reason_class is 'Who must act on the reason why it failed or is parked; null = there is none.';
comment on column report.query.reason_code is 'Code of that reason.';
comment on column report.query.reason_message is 'Sentence of that reason.';
comment on column report.query.seconds_waiting is 'Seconds from its acceptance to its grab; null = not grabbed.';
comment on column report.query.seconds_running is 'Seconds from its grab to its end; null = not ended.';
