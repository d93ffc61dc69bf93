-- In which format the report of a query is written, and to how many it is mailed.

-- +goose Up
alter table accession.query
    add column format text not null default '',
    add column recipients bigint not null default 0;
comment on column accession.query.format is 'Format of its report: text, csv, json or html; empty = text.';
comment on column accession.query.recipients is 'To how many addresses its report is mailed; 0 = it is not.';
