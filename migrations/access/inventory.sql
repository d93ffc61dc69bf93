-- The inventory for analysts. It stands in schema report, which a rebuild replaces, over
-- the tables of schema record, which it does not: so it is made after every migration of
-- either, and with each new generation of views.
do $$
begin
    if to_regclass('record.object_version') is null or to_regclass('report.event') is null then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtext('accession inventory view'));
    create or replace view report.inventory as
    select v.primary_identifier, v.version, v.version = o.current_version as is_current, o.collection, o.owner, v.profile_name, v.submitter,
           o.erc_what, o.erc_who, o.erc_when, o.local_id, v.job_id, v.batch_id, v.files, v.bytes, v.manifest_key, v.manifest_sha256, v.stored_at, v.recorded_at
    from record.object_version v
    join record.object o on o.primary_identifier = v.primary_identifier;
    comment on view report.inventory is 'One row per stored version of an object.';
    comment on column report.inventory.primary_identifier is 'Identifier of the object.';
    comment on column report.inventory.version is 'Version of the object, from 1.';
    comment on column report.inventory.is_current is 'It is the highest version of the object.';
    comment on column report.inventory.collection is 'Collection of the object.';
    comment on column report.inventory.owner is 'Owner of the object.';
    comment on column report.inventory.profile_name is 'Profile of the deposit.';
    comment on column report.inventory.submitter is 'Who deposited it.';
    comment on column report.inventory.erc_what is 'Title of the object, as of its current version.';
    comment on column report.inventory.erc_who is 'Creator of the object, as of its current version.';
    comment on column report.inventory.erc_when is 'Date of the object, as of its current version.';
    comment on column report.inventory.local_id is 'Local identifiers of the object, as of its current version.';
    comment on column report.inventory.job_id is 'The job that stored it.';
    comment on column report.inventory.batch_id is 'The batch of that job.';
    comment on column report.inventory.files is 'How many files it has, those of the system included.';
    comment on column report.inventory.bytes is 'Sum of their sizes in bytes.';
    comment on column report.inventory.manifest_key is 'Key of its storage manifest in the object store.';
    comment on column report.inventory.manifest_sha256 is 'SHA-256 of that manifest, in hex.';
    comment on column report.inventory.stored_at is 'When its manifest was written.';
    comment on column report.inventory.recorded_at is 'When it was recorded in the inventory.';
    if exists (select from pg_roles where rolname = 'accession_reader') then
        grant select on report.inventory to accession_reader;
    end if;
    if exists (select from pg_roles where rolname = 'accession_owner') and pg_has_role('accession_owner', 'MEMBER') then
        alter view report.inventory owner to accession_owner;
    end if;
end
$$;
