-- Synchronous deposits run beside the rings of the deposit queues.

-- +goose Up
alter table accession.batch add column ticket_synchronous boolean;
comment on column accession.batch.ticket_synchronous is 'Whether it is a synchronous deposit, which waits for no turn and counts in the pool of its queue; null = it has no ticket.';
comment on column accession.batch.ticket_turn is 'Turn in which it was grabbed; 0 = it waits, or is synchronous.';

alter table accession.deposit add column synchronous boolean not null default false;
comment on column accession.deposit.synchronous is 'Whether it is a synchronous deposit, which was not grabbed, but ran from its reception on.';
comment on column accession.deposit.turn is 'Turn in which it was grabbed: grabs of a queue are numbered in their order. 0 = it was not grabbed.';

create or replace view report.deposit as
select d.batch_id, d.number, d.queue, d.user_name,
       case when d.parked_at is not null then 'parked' when d.ended_at is not null then 'ended' when d.turn > 0 or d.synchronous then 'running' else 'waiting' end as state,
       d.size, d.received_at, d.grabbed_at, d.ended_at, d.turn, d.processor, d.rule,
       d.waited_seconds, d.ran_seconds, d.slot, d.seq, d.synchronous
from accession.deposit d;
comment on view report.deposit is 'One row per time that a batch was in a deposit queue, or ran beside it as a synchronous deposit.';
comment on column report.deposit.synchronous is 'Whether it is a synchronous deposit, which is not grabbed, but runs from its reception on.';
