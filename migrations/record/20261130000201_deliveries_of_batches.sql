-- A batch of a hundred thousand jobs has as many callbacks: the mails about the batch itself are few,
-- and found among them.

-- +goose Up
create index delivery_of_batch on record.delivery (batch_id, created_at) where job_id = '';
