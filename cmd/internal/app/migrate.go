package app

import "context"

// Migrated tells how many migrations each schema took.
type Migrated struct {
	Applied map[string]int `json:"applied"`
}

// Migrate makes or updates the tables of the projection and of the records, and
// grants rights on them to the roles that exist; with roles it makes these first.
// It is never done without being asked for.
func (a *App) Migrate(ctx context.Context, roles bool) (Migrated, error) {
	if roles {
		if err := a.World.MakeRoles(ctx); err != nil {
			return Migrated{}, explain("make roles", err)
		}
	}
	applied, err := a.World.Migrate(ctx)
	return Migrated{Applied: applied}, explain("migrate", err)
}
