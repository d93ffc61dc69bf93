-- Whose object: an identifier is of one collection from the moment that a job is
-- about to use it, and local ids are names within a collection.

-- +goose Up
create table record.identifier_collection (
    primary_identifier text        primary key,
    collection         text        not null,
    job_id             text        not null,
    kept_at            timestamptz not null default clock_timestamp()
);
comment on table record.identifier_collection is 'One row per identifier that jobs have used: the collection whose deposits alone may write the object. An object in the inventory without a row here is of the collection that stands there.';
comment on column record.identifier_collection.primary_identifier is 'The object.';
comment on column record.identifier_collection.collection is 'The collection that the object belongs to.';
comment on column record.identifier_collection.job_id is 'The first job that used the identifier.';
comment on column record.identifier_collection.kept_at is 'When that job was about to use it.';

alter table record.local_id add column collection text not null default '';
comment on column record.local_id.collection is 'The collection within which it is a name; empty for a name bound before collections were kept, whose object is not in the inventory: then it is a name in all collections of its owner.';
update record.local_id l set collection = o.collection from record.object o where o.primary_identifier = l.primary_identifier;
alter table record.local_id drop constraint local_id_pkey, add primary key (owner, collection, local_id);
