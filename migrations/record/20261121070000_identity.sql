-- +goose Up
create schema if not exists record;
comment on schema record is 'What Accession keeps for itself and no event log could rebuild: back it up.';
