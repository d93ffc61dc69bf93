package app

import (
	"context"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// Collection is a collection, the hold on it and what waits in held.
type Collection struct {
	Name    string       `json:"collection"`
	Profile string       `json:"profile,omitempty"` // "" = no profile describes it any more
	Hold    *domain.Hold `json:"hold"`              // null = open
	// Batches and Jobs count what is held, for whatever reason; null when
	// PostgreSQL does not answer.
	Batches *int64 `json:"batches_held"`
	Jobs    *int64 `json:"jobs_held"`
}

// Collections lists the collections that profiles describe or that are on hold, by
// name. It works, without counts, when PostgreSQL does not.
func (a *App) Collections(ctx context.Context) ([]Collection, error) {
	list, err := a.collections(ctx)
	return notNil(list), explain("list collections", err)
}

func (a *App) collections(ctx context.Context) ([]Collection, error) {
	live, err := a.World.Live(ctx)
	if err != nil {
		return nil, err
	}
	holds, err := live.Holds(ctx)
	if err != nil {
		return nil, err
	}
	profiles, err := a.World.Profiles()
	if err != nil {
		return nil, err
	}
	all := map[string]*Collection{}
	for name, h := range holds.Collections {
		all[name] = &Collection{Name: name, Hold: &h}
	}
	held, counted := a.held(ctx)
	for _, name := range profiles.Names() {
		p, err := profiles.Get(name)
		if err != nil {
			return nil, err
		}
		c := all[p.Collection]
		if c == nil {
			c = &Collection{Name: p.Collection}
			all[p.Collection] = c
		}
		c.Profile = name
		if counted {
			n := held[name]
			c.Batches, c.Jobs = &n.Batches, &n.Jobs
		}
	}
	var list []Collection
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[name])
	}
	return list, nil
}

// held counts what is held by profile, if the tables can be read.
func (a *App) held(ctx context.Context) (map[string]projections.HeldCount, bool) {
	db, err := a.World.DB(ctx)
	if err != nil {
		return nil, false
	}
	held, err := projections.Held(ctx, db)
	return held, err == nil
}
