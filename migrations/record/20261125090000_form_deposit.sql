-- Which deposits the forms of other services have taken, by the names under which their
-- clients ask what became of them.

-- +goose Up
create table record.form_deposit (
    submitter text        not null,
    name      text        not null,
    kept_at   timestamptz not null default clock_timestamp(),
    taken_as  text        not null,
    primary key (submitter, name, kept_at, taken_as)
);
comment on table record.form_deposit is 'One row per name of a deposit or query that came by a form, kept before it is accepted. Whether it was, the drop folder, its batch or its query says.';
comment on column record.form_deposit.submitter is 'Who deposits; names of others do not count.';
comment on column record.form_deposit.name is 'file_name/ and the name of the file, or doc_batch_id/ and what the file names itself.';
comment on column record.form_deposit.kept_at is 'When it arrived: several may have one name, the newest is asked for.';
comment on column record.form_deposit.taken_as is 'The id that it has in the drop folder, or of its batch or query.';
