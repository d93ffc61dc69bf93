package app

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Collection is a collection, the hold on it and what waits in held.
type Collection struct {
	ID      string       `json:"id"` // its name
	Name    string       `json:"collection"`
	Profile string       `json:"profile,omitempty"` // "" = no profile describes it any more
	Hold    *domain.Hold `json:"hold,omitempty"`    // nil = open
	// Batches and Jobs count what is held, for whatever reason; null when
	// PostgreSQL does not answer.
	Batches *int64 `json:"batches_held"`
	Jobs    *int64 `json:"jobs_held"`
	Setting int64  `json:"setting_version"` // of its hold, for If-Match; 0 = it never was on hold
}

// Collections lists the collections that profiles describe or that are on hold, by
// name. It works, without counts, when PostgreSQL does not.
func (a *App) Collections(ctx context.Context) (list []Collection, err error) {
	defer Explained(&err, "list collections")
	live, err := a.Open.Live(ctx)
	if err != nil {
		return nil, err
	}
	holds, err := live.Holds(ctx)
	if err != nil {
		return nil, err
	}
	profiles, err := a.Profiles(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]Collection{}
	for name, h := range holds.Collections {
		all[name] = Collection{ID: name, Name: name, Hold: &h}
	}
	t := a.read(ctx)
	var held map[string]query.HeldCount
	if t.err == nil {
		held, t.err = query.Held(ctx, t.db)
	}
	for _, p := range profiles {
		c := all[p.Collection]
		c.ID, c.Name, c.Profile = p.Collection, p.Collection, p.Name
		if n := held[p.Name]; t.err == nil {
			c.Batches, c.Jobs = &n.Batches, &n.Jobs
		}
		all[p.Collection] = c
	}
	list = []Collection{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list, nil
}

// HoldCollection makes new batches and pending jobs of a collection wait in held. Later
// states are not affected. A collection that no profile describes is not found: a hold
// on a misspelt name would have no effect.
func (a *App) HoldCollection(ctx context.Context, name, why string) (c Changed, err error) {
	defer Explained(&err, "hold collection "+name)
	if err := domain.CheckHoldName(domain.HoldCollection, name); err != nil {
		return c, &Error{Kind: Invalid, Err: err}
	}
	profiles, err := a.Profiles(ctx)
	if err != nil {
		return c, err
	}
	known := make([]string, len(profiles))
	for i, p := range profiles {
		known[i] = p.Collection
	}
	if slices.Sort(known); !slices.Contains(known, name) {
		return c, errorf(NotFound, "there is "+strings.Join(known, ", "), "no profile describes the collection %q", name)
	}
	c, err = a.changeHold(ctx, holdChange{"hold", domain.HoldCollection, name, &domain.Hold{}, why})
	c.add("its new batches, and its jobs that are still pending, wait in held; others go on")
	return c, err
}

// ReleaseCollection releases the hold on a collection. What waits in held because of
// it stays there until it is released itself.
func (a *App) ReleaseCollection(ctx context.Context, name, why string) (Changed, error) {
	c, err := a.changeHold(ctx, holdChange{"release", domain.HoldCollection, name, nil, why})
	if list, err := a.Collections(ctx); err == nil {
		for _, l := range list {
			if l.Name == name && l.Batches != nil && l.Jobs != nil {
				c.add("%d batches and %d jobs of it stay in held", *l.Batches, *l.Jobs)
			}
		}
	}
	c.add("held batches and jobs of it can be released now: all with `accession collection release %s --all`, single ones with `accession batch release` and `accession job release`", name)
	return c, err
}
