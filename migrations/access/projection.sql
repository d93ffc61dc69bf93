-- Who may do what with the projection. Run after every migration, so that what a
-- migration made is granted too; roles that were not made are left out.
do $$
declare
    thing record;
begin
    revoke execute on all functions in schema accession from public;
    if exists (select from pg_roles where rolname = 'accession_reader') then
        grant usage on schema report to accession_reader;
        grant select on all tables in schema report to accession_reader;
    end if;
    if exists (select from pg_roles where rolname = 'accession_projector') then
        grant usage on schema accession to accession_projector;
        grant usage on schema report to accession_projector;
        for thing in -- partitions are written to through their table
            select c.oid::regclass as name from pg_class c
            where c.relnamespace = 'accession'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        loop
            execute format('grant select, insert, update, delete on %s to accession_projector', thing.name);
        end loop;
        revoke insert, update, delete on accession.schema_version from accession_projector;
        grant select on all tables in schema report to accession_projector;
        grant execute on all functions in schema accession to accession_projector;
    end if;
    if exists (select from pg_roles where rolname = 'accession_owner') and pg_has_role('accession_owner', 'MEMBER') then
        alter schema accession owner to accession_owner;
        alter schema report owner to accession_owner;
        for thing in
            select c.oid::regclass as name from pg_class c
            where c.relnamespace in ('accession'::regnamespace, 'report'::regnamespace) and c.relkind in ('r', 'p', 'v')
                and c.relowner <> 'accession_owner'::regrole order by c.relkind
        loop
            execute format('alter table %s owner to accession_owner', thing.name);
        end loop;
        for thing in
            select p.oid::regprocedure as name from pg_proc p
            where p.pronamespace in ('accession'::regnamespace, 'report'::regnamespace) and p.proowner <> 'accession_owner'::regrole
        loop
            execute format('alter function %s owner to accession_owner', thing.name);
        end loop;
        -- Views read with the rights of their owner, some of them records, which may have been
        -- made before there were roles.
        for thing in
            select n.oid::regnamespace as name from pg_namespace n
            where n.nspname = 'record' and n.nspowner <> 'accession_owner'::regrole and pg_has_role(n.nspowner, 'MEMBER')
        loop
            execute format('grant usage on schema %s to accession_owner', thing.name);
        end loop;
        for thing in
            select c.oid::regclass as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'record' and c.relkind in ('r', 'p', 'v') and c.relowner <> 'accession_owner'::regrole and pg_has_role(c.relowner, 'MEMBER')
        loop
            execute format('grant select on %s to accession_owner', thing.name);
        end loop;
    end if;
end
$$;
