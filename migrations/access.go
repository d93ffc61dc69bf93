package migrations

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed access/*.sql
var accessFiles embed.FS

//go:embed views/*.sql
var viewFiles embed.FS

// listingViews returns what makes the views over listings and files, once both are there.
// sqlc reads the file too, so that the conditions stand here.
func listingViews(names Names) (string, error) {
	text, err := viewFiles.ReadFile("views/listings.sql")
	return names.Rewrite(`do $made$
begin
    if to_regclass('record.group_file') is null or to_regclass('report.slot_progress') is null then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtext('accession views of listings'));
` + string(text) + `
    if exists (select from pg_roles where rolname = 'accession_reader') then
        grant select on report.directory_listing, report.dataset_reconciliation, report.group_deposit to accession_reader;
    end if;
    if exists (select from pg_roles where rolname = 'accession_projector') then
        grant select on report.directory_listing, report.dataset_reconciliation, report.group_deposit to accession_projector;
    end if;
    if exists (select from pg_roles where rolname = 'accession_owner') and pg_has_role('accession_owner', 'MEMBER') then
        alter view report.directory_listing owner to accession_owner;
        alter view report.dataset_reconciliation owner to accession_owner;
        alter view report.group_deposit owner to accession_owner;
    end if;
end
$made$`), err
}

// MakeRoles makes the roles that do not exist yet: accession_owner, _projector,
// _service and _reader. They belong to the whole server; the caller
// must be allowed to make roles. What they may do is granted by [Up].
func MakeRoles(ctx context.Context, pool *pgxpool.Pool) error {
	roles, err := accessSQL("roles", Live)
	if err == nil {
		err = locked(ctx, pool, "roles", roles)
	}
	if err != nil {
		return fmt.Errorf("make roles: %w", err)
	}
	return nil
}

// accessSQL returns one of the files about roles and rights, with the schemas' names
// as they are in names.
func accessSQL(file string, names Names) (string, error) {
	text, err := accessFiles.ReadFile("access/" + file + ".sql")
	return names.Rewrite(string(text)), err
}
