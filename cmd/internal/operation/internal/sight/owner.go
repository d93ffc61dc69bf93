// Package sight knows what is there for a caller: whose a thing is, and what names of filters
// stand for.
package sight

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Of is what a caller may see and know of.
type Of struct {
	App    *app.App
	Caller access.Caller
}

// NoSuch returns the error about something that does not exist, or that the caller may not
// know of.
func NoSuch(a domain.Aggregate) error {
	return &app.Error{Kind: app.NotFound, What: "show " + a.ID, Err: fmt.Errorf("there is no such %s", a.Kind),
		Hint: fmt.Sprintf("`accession %s ls` lists them", a.Kind)}
}

// Owner returns whose a batch, job or file is, also of a batch or job that is newer than the
// tables. If it does not exist the error is that of [NoSuch].
func (s Of) Owner(ctx context.Context, of domain.Aggregate) (o query.Owner, err error) {
	defer app.Explained(&err, "look whose "+of.ID+" is")
	db, err := s.App.Open.DB(ctx)
	if err != nil {
		return o, err
	}
	o, err = query.OwnerOf(ctx, db, of)
	if errors.Is(err, query.ErrNotFound) {
		o, err = s.liveOwner(ctx, of)
	}
	if errors.Is(err, query.ErrNotFound) || errors.Is(err, eventstore.ErrNotFound) {
		err = NoSuch(of)
	}
	return o, err
}

// Sees returns whose a thing is that the caller may see; one that it may not is not there.
func (s Of) Sees(ctx context.Context, of domain.Aggregate) (query.Owner, error) {
	o, err := s.Owner(ctx, of)
	if err == nil && !s.Caller.Filter().Selects(o.Collection, o.Submitter) {
		err = NoSuch(of)
	}
	return o, err
}

// liveOwner returns whose a batch or job in the live state is.
func (s Of) liveOwner(ctx context.Context, of domain.Aggregate) (o query.Owner, err error) {
	live, err := s.App.Open.Live(ctx)
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
	o.Collection, err = s.CollectionOf(profile)
	if known, ok := errors.AsType[*app.Error](err); ok && known.Kind == app.NotFound {
		err = nil // its profile has gone: it is of no collection
	}
	return o, err
}

// CollectionOf returns the collection of a profile; the error is one of kind NotFound if
// there is no such profile.
func (s Of) CollectionOf(profile string) (name string, err error) {
	defer app.Explained(&err, "find the profile "+profile)
	profiles, err := s.App.Open.Profiles()
	if err != nil {
		return "", err
	}
	p, err := profiles.Get(profile)
	return p.Collection, err
}
