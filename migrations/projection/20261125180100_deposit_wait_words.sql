-- Says how long deposits waited in the words of other columns.

-- +goose Up
comment on column report.deposit_wait.p50_seconds is 'Half of them had waited this many seconds or less.';
comment on column report.deposit_wait.p95_seconds is '95 of 100 had waited this many seconds or less.';
