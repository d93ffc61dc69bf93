package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

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
