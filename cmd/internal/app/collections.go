package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
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
	live, err := a.Open.Live(ctx)
	if err != nil {
		return nil, err
	}
	holds, err := live.Holds(ctx)
	if err != nil {
		return nil, err
	}
	profiles, err := a.Open.Profiles()
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
func (a *App) held(ctx context.Context) (map[string]query.HeldCount, bool) {
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, false
	}
	held, err := query.Held(ctx, db)
	return held, err == nil
}

// HoldCollection makes new batches and pending jobs of a collection wait in held.
// What is past pending goes on. A collection that no profile describes is not
// found: a hold on a slip of the pen would hold nothing.
func (a *App) HoldCollection(ctx context.Context, name, why string) (Changed, error) {
	what := "hold collection " + name
	if err := domain.CheckHoldName(domain.HoldCollection, name); err != nil {
		return Changed{}, &Error{Kind: Invalid, What: what, Err: err}
	}
	known, err := a.collectionNames()
	if err != nil {
		return Changed{}, explain(what, err)
	}
	if !slices.Contains(known, name) {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: fmt.Errorf("no profile describes the collection %q", name),
			Hint: "there is " + strings.Join(known, ", ")}
	}
	c, err := a.changeHold(ctx, "hold", domain.HoldCollection, name, &domain.Hold{}, why)
	if err != nil {
		return c, err
	}
	c.add("its new batches, and its jobs that are still pending, wait in held; others go on")
	return c, nil
}

// collectionNames lists the collections that profiles describe, sorted.
func (a *App) collectionNames() ([]string, error) {
	profiles, err := a.Open.Profiles()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range profiles.Names() {
		p, err := profiles.Get(n)
		if err != nil {
			return nil, err
		}
		names = append(names, p.Collection)
	}
	slices.Sort(names)
	return names, nil
}

// ReleaseCollection lifts the hold on a collection. What waits in held because of
// it stays there until it is released itself.
func (a *App) ReleaseCollection(ctx context.Context, name, why string) (Changed, error) {
	c, err := a.changeHold(ctx, "release", domain.HoldCollection, name, nil, why)
	if err != nil {
		return c, err
	}
	c.add("held batches and jobs of it can be released now, with `accession batch release` and `accession job release`")
	return c, nil
}
