-- The settings of the deposit queues, since issue 12.

-- +goose Up
alter table accession.setting add column value jsonb;
comment on column accession.setting.kind is 'collection (its batches and jobs wait in held), queue (nothing is claimed there), timeouts (how long attempts at files may take), deposit_queue, user_limit or processor (of the deposit queues).';
comment on column accession.setting.name is 'Name of the collection; for a queue ingest or a job state; files for the timeouts; metadata or query for a deposit queue, QUEUE-USER (encoded) for the limits of a user, QUEUE-NAME for a processor.';
comment on column accession.setting.status is 'held or open; of settings that stop nothing set or unset.';
comment on column accession.setting.value is 'Of deposit queues: what is set, as in the event; null = nothing is set. The configuration says what is not set, and SQL does not know it.';

create view report.queue_history as
select h.seq, h.at, split_part(h.name, '-', 1) as queue, h.kind,
       coalesce(h.value -> 'user_limit' ->> 'user', h.previous -> 'user_limit' ->> 'user') as user_name,
       case when h.kind = 'processor' then substr(h.name, strpos(h.name, '-') + 1) end as processor,
       h.changed_by, h.why, h.previous -> h.kind as previous, h.value -> h.kind as value
from report.settings_history h
where h.kind in ('deposit_queue', 'user_limit', 'processor');
comment on view report.queue_history is 'One row per change of a setting of the deposit queues: who changed what, and why.';
comment on column report.queue_history.seq is 'Sequence of the event in the log.';
comment on column report.queue_history.at is 'When the log took it.';
comment on column report.queue_history.queue is 'metadata or query.';
comment on column report.queue_history.kind is 'deposit_queue (the queue itself), user_limit (the limits of one user) or processor.';
comment on column report.queue_history.user_name is 'Whose limits; null = those of no single user.';
comment on column report.queue_history.processor is 'Name of the processor; null = none.';
comment on column report.queue_history.changed_by is 'Who changed it.';
comment on column report.queue_history.why is 'Why.';
comment on column report.queue_history.previous is 'What was set before; null = nothing.';
comment on column report.queue_history.value is 'What is set after; null = nothing: the configuration counts again.';
