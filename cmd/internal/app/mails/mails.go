// Package mails knows to whom the mails of the service go.
package mails

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Addresses returns the addresses of the service's mails about a batch, as its profile has
// them.
func Addresses(ctx context.Context, a *app.App, id domain.BatchID) (from string, to []string, err error) {
	defer app.Explained(&err, "write to the depositor of "+string(id))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return "", nil, err
	}
	b, err := query.Summary(ctx, db, id)
	if errors.Is(err, query.ErrNotFound) {
		return "", nil, &app.Error{Kind: app.NotFound, Err: errors.New("there is no such batch in the tables"), Hint: "`accession batch ls` lists them"}
	}
	if err != nil {
		return "", nil, err
	}
	profiles, err := a.ReadProfiles(ctx)
	if err != nil {
		return "", nil, err
	}
	p, err := profiles.Get(b.ProfileName)
	if err == nil && (p.Notify.From == "" || len(p.Notify.To) == 0) {
		err = &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the profile %s has no mail addresses", p.Name), Hint: "give them with --from and --to"}
	}
	return p.Notify.From, p.Notify.To, err
}
