-- Roles belong to the whole server, not to one database: they are made once, by
-- an administrator who may make roles, and are granted to people and services by name:
-- grant accession_reader to alice. None of them can log in by itself.
do $$
declare
    role text;
    meaning text;
begin
    for role, meaning in values
        ('accession_owner', 'Owns the tables and views of Accession; migrates and rebuilds them.'),
        ('accession_projector', 'Writes the projections of Accession, and nothing else.'),
        ('accession_service', 'What accession serve needs: writes projections and records.'),
        ('accession_reader', 'Reads the views in schema report, and nothing else.')
    loop
        if not exists (select from pg_roles where rolname = role) then
            begin
                execute format('create role %I nologin', role);
                execute format('comment on role %I is %L', role, meaning);
            exception when duplicate_object or unique_violation then
                null; -- another process made it in this moment
            end;
        end if;
    end loop;
    if not exists (select from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles s on s.oid = m.member
                   where r.rolname = 'accession_projector' and s.rolname = 'accession_service') then
        begin
            grant accession_projector to accession_service;
        exception when unique_violation then
            null;
        end;
    end if;
    -- A rebuild makes schemas.
    execute format('grant create on database %I to accession_owner', current_database());
end
$$;
