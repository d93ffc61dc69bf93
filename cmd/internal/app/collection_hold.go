package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

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
	profiles, err := a.World.Profiles()
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
