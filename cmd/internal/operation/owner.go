package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// noSuch returns the error about something that does not exist, or that the caller may not
// know of.
func noSuch(a domain.Aggregate) error {
	return &app.Error{Kind: app.NotFound, What: "show " + a.ID, Err: fmt.Errorf("there is no such %s", a.Kind),
		Hint: fmt.Sprintf("`accession %s ls` lists them", a.Kind)}
}

// owner returns whose a batch, job or file is, also of a batch or job that is newer than the
// tables. If it does not exist the error is that of [noSuch].
func (c *Call) owner(ctx context.Context, of domain.Aggregate) (o query.Owner, err error) {
	defer app.Explained(&err, "look whose "+of.ID+" is")
	db, err := c.App.Open.DB(ctx)
	if err != nil {
		return o, err
	}
	o, err = query.OwnerOf(ctx, db, of)
	if errors.Is(err, query.ErrNotFound) {
		o, err = c.liveOwner(ctx, of)
	}
	if errors.Is(err, query.ErrNotFound) || errors.Is(err, eventstore.ErrNotFound) {
		err = noSuch(of)
	}
	return o, err
}

// liveOwner returns whose a batch or job in the live state is.
func (c *Call) liveOwner(ctx context.Context, of domain.Aggregate) (o query.Owner, err error) {
	live, err := c.App.Open.Live(ctx)
	if err != nil {
		return o, err
	}
	var profile string
	switch of.Kind {
	case domain.KindBatch:
		b, err := live.Batch(ctx, domain.BatchID(of.ID))
		if err != nil {
			return o, err
		}
		profile, o.Submitter, o.Version = b.State.Submission.ProfileName, b.State.Submission.Submitter, b.State.Version
	case domain.KindJob:
		j, err := live.Job(ctx, domain.JobID(of.ID))
		if err != nil {
			return o, err
		}
		profile, o.Submitter, o.Version = j.State.Configuration.ProfileName, j.State.Configuration.Submitter, j.State.Version
	default:
		return o, query.ErrNotFound
	}
	o.Profile = profile
	o.Collection, err = c.collectionOf(profile)
	if known, ok := errors.AsType[*app.Error](err); ok && known.Kind == app.NotFound {
		err = nil // its profile has gone: it is of no collection
	}
	return o, err
}

// collectionOf returns the collection of a profile; the error is one of kind NotFound if
// there is no such profile.
func (c *Call) collectionOf(profile string) (name string, err error) {
	defer app.Explained(&err, "find the profile "+profile)
	profiles, err := c.App.Open.Profiles()
	if err != nil {
		return "", err
	}
	p, err := profiles.Get(profile)
	return p.Collection, err
}
