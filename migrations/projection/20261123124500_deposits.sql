-- What was in the deposit queues, and its grabs.

-- +goose Up
create table accession.deposit (
    batch_id    text        not null,
    number      bigint      not null,
    queue       text        not null,
    user_name   text        not null,
    slot        bigint      not null,
    turn        bigint      not null,
    size        bigint      not null,
    received_at timestamptz not null,
    grabbed_at  timestamptz,
    ended_at    timestamptz,
    parked_at   timestamptz,
    rule        text,
    processor   text,
    cursor      bigint,
    used        bigint,
    lap         bigint,
    seq         bigint      not null,
    grabbed_seq bigint,
    waited_seconds double precision generated always as (case when grabbed_at is not null then greatest(extract(epoch from grabbed_at - received_at), 0) end) stored,
    ran_seconds    double precision generated always as (case when grabbed_at is not null and ended_at is not null then greatest(extract(epoch from ended_at - grabbed_at), 0) end) stored,
    primary key (batch_id, number)
);
create index deposit_grabbed_on on accession.deposit (((grabbed_at at time zone 'UTC')::date), user_name) where turn > 0;
create index deposit_turn on accession.deposit (queue, turn) where turn > 0;
create index deposit_open on accession.deposit (queue, slot, batch_id) where ended_at is null;
comment on table accession.deposit is 'One row per time that a batch was in a deposit queue, with its grab: a batch that is held and released, or parked and released, waits again.';
comment on column accession.deposit.batch_id is 'The batch.';
comment on column accession.deposit.number is 'Which time of the batch, from 1.';
comment on column accession.deposit.queue is 'The deposit queue, such as metadata.';
comment on column accession.deposit.user_name is 'Whose turn it waits for, or among whose running batches it counts.';
comment on column accession.deposit.slot is 'Slot of the user in the ring when it joined the queue.';
comment on column accession.deposit.turn is 'Turn in which it was grabbed: grabs of a queue are numbered in their order. 0 = it was not grabbed.';
comment on column accession.deposit.size is 'Size in bytes as the depositor gave it, 0 = unknown.';
comment on column accession.deposit.received_at is 'When it joined the queue.';
comment on column accession.deposit.grabbed_at is 'When it was grabbed; null = not.';
comment on column accession.deposit.ended_at is 'When it left the queue for good, or ceased to count as running: reported, held, parked or deleted; null = it waits or runs.';
comment on column accession.deposit.parked_at is 'When it was parked; null = not.';
comment on column accession.deposit.rule is 'Rule of its grab: required, preferred or round_robin; null = not grabbed.';
comment on column accession.deposit.processor is 'Processor that grabbed it; null = not grabbed.';
comment on column accession.deposit.cursor is 'Slot of the user whom round robin visits after the grab, 0 = the first; null = not grabbed.';
comment on column accession.deposit.used is 'How many deposits were grabbed in that visit; null = not grabbed.';
comment on column accession.deposit.lap is 'Highest slot of the lap after the grab, 0 = none has begun; null = not grabbed.';
comment on column accession.deposit.seq is 'Sequence of the event by which it joined the queue.';
comment on column accession.deposit.grabbed_seq is 'Sequence of its grab; null = not grabbed.';
comment on column accession.deposit.waited_seconds is 'Seconds from its reception to its grab, never negative; null = not grabbed.';
comment on column accession.deposit.ran_seconds is 'Seconds from its grab to its end, never negative; null = not grabbed, or not ended.';

create view report.deposit as
select d.batch_id, d.number, d.queue, d.user_name,
       case when d.parked_at is not null then 'parked' when d.ended_at is not null then 'ended' when d.turn > 0 then 'running' else 'waiting' end as state,
       d.size, d.received_at, d.grabbed_at, d.ended_at, d.turn, d.processor, d.rule,
       d.waited_seconds, d.ran_seconds, d.slot, d.seq
from accession.deposit d;
comment on view report.deposit is 'One row per time that a batch was in a deposit queue.';
comment on column report.deposit.batch_id is 'The batch.';
comment on column report.deposit.number is 'Which time of the batch, from 1.';
comment on column report.deposit.queue is 'The deposit queue, such as metadata.';
comment on column report.deposit.user_name is 'Whose deposit.';
comment on column report.deposit.state is 'waiting, running, parked, or ended: reported, held or deleted.';
comment on column report.deposit.size is 'Size in bytes as the depositor gave it, 0 = unknown.';
comment on column report.deposit.received_at is 'When it joined the queue.';
comment on column report.deposit.grabbed_at is 'When it was grabbed; null = not.';
comment on column report.deposit.ended_at is 'When it was reported, held, parked or deleted; null = it waits or runs.';
comment on column report.deposit.turn is 'Turn in which it was grabbed, 0 = not.';
comment on column report.deposit.processor is 'Processor that grabbed it; null = not grabbed.';
comment on column report.deposit.rule is 'Rule of its grab: required, preferred or round_robin; null = not grabbed.';
comment on column report.deposit.waited_seconds is 'Seconds from its reception to its grab, never negative; null = not grabbed.';
comment on column report.deposit.ran_seconds is 'Seconds from its grab to its end, never negative; null = not both.';
comment on column report.deposit.slot is 'Slot of the user in the ring when it joined the queue.';
comment on column report.deposit.seq is 'Sequence of the event by which it joined the queue.';

create view report.grab as
select d.queue, d.turn, d.user_name, d.batch_id, d.processor, d.rule, d.grabbed_at,
       d.waited_seconds, d.size, d.slot, d.cursor, d.used, d.lap, d.grabbed_seq as seq
from accession.deposit d
where d.turn > 0;
comment on view report.grab is 'One row per grab: who was served, in the order of the turns of each queue.';
comment on column report.grab.queue is 'The deposit queue, such as metadata.';
comment on column report.grab.turn is 'Number of the grab in its queue. A number that is missing was a deposit that was parked, or a repair.';
comment on column report.grab.user_name is 'Who was served.';
comment on column report.grab.batch_id is 'The batch that was grabbed.';
comment on column report.grab.processor is 'Processor that grabbed it.';
comment on column report.grab.rule is 'By which rule: required, preferred or round_robin.';
comment on column report.grab.grabbed_at is 'When.';
comment on column report.grab.waited_seconds is 'Seconds that it had waited, never negative.';
comment on column report.grab.size is 'Size in bytes as the depositor gave it, 0 = unknown.';
comment on column report.grab.slot is 'Slot of the user in the ring.';
comment on column report.grab.cursor is 'Slot of the user whom round robin visits after the grab, 0 = the first.';
comment on column report.grab.used is 'How many deposits were grabbed in that visit.';
comment on column report.grab.lap is 'Highest slot of the lap after the grab, 0 = none has begun.';
comment on column report.grab.seq is 'Sequence of the event in the log.';

create view report.deposit_wait as
select (d.grabbed_at at time zone 'UTC')::date as day, d.user_name, d.queue, count(*) as grabs,
       percentile_cont(0.5) within group (order by d.waited_seconds) as p50_seconds,
       percentile_cont(0.95) within group (order by d.waited_seconds) as p95_seconds,
       max(d.waited_seconds) as max_seconds
from accession.deposit d
where d.turn > 0
group by (d.grabbed_at at time zone 'UTC')::date, d.user_name, d.queue;
comment on view report.deposit_wait is 'One row per day (UTC), user and queue: how long the deposits that were grabbed on it had waited.';
comment on column report.deposit_wait.day is 'The day, in UTC.';
comment on column report.deposit_wait.user_name is 'Whose deposits.';
comment on column report.deposit_wait.queue is 'The deposit queue, such as metadata.';
comment on column report.deposit_wait.grabs is 'How many deposits of the user were grabbed.';
comment on column report.deposit_wait.p50_seconds is 'Half of them had waited at most so many seconds.';
comment on column report.deposit_wait.p95_seconds is '95 of 100 had waited at most so many seconds.';
comment on column report.deposit_wait.max_seconds is 'The longest wait, in seconds.';

create view report.user_share as
select s.day, s.queue, s.user_name, s.grabs, s.grabs / sum(s.grabs) over whole as share_of_grabs, s.ran_seconds,
       s.ran_seconds / nullif(sum(s.ran_seconds) over whole, 0) as share_of_time
from (
    select (d.grabbed_at at time zone 'UTC')::date as day, d.queue, d.user_name, count(*) as grabs,
           coalesce(sum(d.ran_seconds), 0) as ran_seconds
    from accession.deposit d
    where d.turn > 0
    group by (d.grabbed_at at time zone 'UTC')::date, d.queue, d.user_name
) s
window whole as (partition by s.day, s.queue);
comment on view report.user_share is 'One row per day (UTC), queue and user: the share that the user had of the deposits that were grabbed on it.';
comment on column report.user_share.day is 'The day, in UTC.';
comment on column report.user_share.queue is 'The deposit queue, such as metadata.';
comment on column report.user_share.user_name is 'The user.';
comment on column report.user_share.grabs is 'How many deposits of the user were grabbed.';
comment on column report.user_share.share_of_grabs is 'Of all grabs of the queue on that day, 0 to 1.';
comment on column report.user_share.ran_seconds is 'Seconds from the grab to the end of these deposits, as far as they have ended.';
comment on column report.user_share.share_of_time is 'Of these seconds of all users, 0 to 1; null = none has ended.';
