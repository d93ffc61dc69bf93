-- Who may do what with the records. Run after every migration.
do $$
declare
    thing record;
begin
    if exists (select from pg_roles where rolname = 'accession_service') then
        grant usage on schema record to accession_service;
        grant select, insert, update, delete on all tables in schema record to accession_service;
        grant usage on all sequences in schema record to accession_service;
        revoke insert, update, delete on record.schema_version from accession_service;
        if to_regclass('record.audit_entry') is not null then
            revoke update, delete on record.audit_entry from accession_service;
        end if;
    end if;
    if exists (select from pg_roles where rolname = 'accession_owner') and pg_has_role('accession_owner', 'MEMBER') then
        alter schema record owner to accession_owner;
        for thing in
            select c.oid::regclass as name from pg_class c
            where c.relnamespace = 'record'::regnamespace and c.relkind in ('r', 'p', 'v') and c.relowner <> 'accession_owner'::regrole
        loop
            execute format('alter table %s owner to accession_owner', thing.name);
        end loop;
    end if;
end
$$;
