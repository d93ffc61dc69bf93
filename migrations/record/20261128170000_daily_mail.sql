-- +goose Up
comment on column record.delivery.about is 'What it is about: queued, report, update, job, or daily: what needs a person, to operators.';
comment on column record.delivery.batch_id is 'The batch that it is about; empty = none.';

-- +goose Down
comment on column record.delivery.about is 'What it is about: queued, report, update or job.';
comment on column record.delivery.batch_id is 'The batch that it is about.';
