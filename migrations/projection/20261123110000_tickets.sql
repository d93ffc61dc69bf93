-- Batches wait in deposit queues until they are grabbed, since issue 12.

-- +goose Up
alter table accession.batch
    add column ticket_queue text,
    add column ticket_user  text,
    add column ticket_slot  bigint,
    add column ticket_turn  bigint,
    add column grabbed_at   timestamptz;
comment on column accession.batch.ticket_queue is 'Deposit queue in which it waits or runs; null = it does neither.';
comment on column accession.batch.ticket_user is 'Whose turn it waits for, or among whose running batches it counts.';
comment on column accession.batch.ticket_slot is 'Slot of the user in the ring when it joined the queue.';
comment on column accession.batch.ticket_turn is 'Turn in which it was grabbed; 0 = it waits.';
comment on column accession.batch.grabbed_at is 'When it was grabbed, the last time; null = never, or before deposit queues were used.';
