package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// MailAddresses tells whom the service writes to about a batch, as its profile says.
func (a *App) MailAddresses(ctx context.Context, id domain.BatchID) (from string, to []string, err error) {
	what := "write to the depositor of " + string(id)
	db, err := a.World.DB(ctx)
	if err != nil {
		return "", nil, explain(what, err)
	}
	b, err := projections.Summary(ctx, db, id)
	if err != nil {
		return "", nil, explain(what, err)
	}
	profiles, err := a.World.Profiles()
	if err != nil {
		return "", nil, explain(what, err)
	}
	p, err := profiles.Get(b.ProfileName)
	if err != nil {
		return "", nil, explain(what, err)
	}
	if p.Notify.From == "" || len(p.Notify.To) == 0 {
		return "", nil, &Error{Kind: Invalid, What: what, Err: errors.New("the profile " + p.Name + " names nobody"),
			Hint: "name them with --from and --to"}
	}
	return p.Notify.From, p.Notify.To, nil
}
