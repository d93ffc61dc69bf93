package migrations

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed access/*.sql
var accessFiles embed.FS

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
