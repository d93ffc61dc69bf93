package app

import "context"

// Migrated tells how many migrations each schema took.
type Migrated struct {
	Applied map[string]int `json:"applied"`
}

// Migrate makes or updates the tables of the projection and of the records. It is
// never done without being asked for.
func (a *App) Migrate(ctx context.Context) (Migrated, error) {
	applied, err := a.World.Migrate(ctx)
	return Migrated{Applied: applied}, explain("migrate", err)
}
