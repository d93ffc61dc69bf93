-- Queries are among what was in the deposit queues, with their grabs.

-- +goose Up
comment on table accession.deposit is 'One row per time that a batch or query was in a deposit queue, with its grab: a batch that is held and released, or a deposit that is parked and comes back, waits again.';
comment on column accession.deposit.batch_id is 'The batch; in the queue query, the query.';
comment on column accession.deposit.number is 'Which time of the batch or query, from 1.';
comment on column accession.deposit.queue is 'The deposit queue: metadata or query.';
comment on column accession.deposit.user_name is 'Whose turn it waits for, or among whose running deposits it counts.';
comment on column accession.deposit.size is 'Size in bytes as the depositor gave it, or of the list of a query; 0 = unknown.';
comment on column accession.deposit.ended_at is 'When it left the queue for good, or ceased to count as running: reported, answered, failed, held, parked or deleted; null = it waits or runs.';

comment on view report.deposit is 'One row per time that a batch or query was in a deposit queue, or that a synchronous deposit ran beside it.';
comment on column report.deposit.batch_id is 'The batch; in the queue query, the query.';
comment on column report.deposit.number is 'Which time of the batch or query, from 1.';
comment on column report.deposit.queue is 'The deposit queue: metadata or query.';
comment on column report.deposit.state is 'waiting, running, parked, or ended: reported, answered, failed, held or deleted.';
comment on column report.deposit.size is 'Size in bytes as the depositor gave it, or of the list of a query; 0 = unknown.';
comment on column report.deposit.ended_at is 'When it was reported, answered, failed, held, parked or deleted; null = it waits or runs.';

comment on column report.grab.queue is 'The deposit queue: metadata or query.';
comment on column report.grab.batch_id is 'The batch that was grabbed; in the queue query, the query.';
comment on column report.grab.size is 'Size in bytes as the depositor gave it, or of the list of a query; 0 = unknown.';
comment on column report.deposit_wait.queue is 'The deposit queue: metadata or query.';
comment on column report.user_share.queue is 'The deposit queue: metadata or query.';

create or replace view report.query as
select q.id as query_id, q.status, q.submitter, q.file_name, q.list_url, q.list_sha256, q.size, q.lines, q.wrong_lines, q.received_at, q.grabbed_at, q.processor, q.ended_at, q.found, q.not_found, q.answer_url, q.answer_sha256, q.reason_class, q.reason_code, q.reason_message,
    extract(epoch from q.grabbed_at - q.received_at)::double precision as seconds_waiting,
    extract(epoch from q.ended_at - q.grabbed_at)::double precision as seconds_running,
    case when q.format = '' then 'text' else q.format end as format, q.recipients, d.turn, d.rule
from accession.query q left join accession.deposit d on d.batch_id = q.id and d.turn > 0;
comment on column report.query.format is 'Format of its report: text, csv, json or html.';
comment on column report.query.recipients is 'To how many addresses its report is mailed; 0 = it is not.';
comment on column report.query.turn is 'Turn in which it was grabbed: grabs of a queue are numbered in their order; null = not yet.';
comment on column report.query.rule is 'Rule of its grab: required, preferred or round_robin; null = not yet.';
