package sight

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// Named are the things that a filter names.
type Named struct{ Profile, Collection, Submitter, Batch, Job, Dataset string }

// Known returns an error of kind NotFound, with the name of the field, if a filter names what
// is not there for the caller: then nothing can ever be selected. What no server can say now
// counts as known.
func (s Of) Known(ctx context.Context, n Named) error {
	if id, err := domain.ParseBatchID(n.Batch); err == nil { // else none, or no id, which is refused elsewhere
		if _, err := s.Sees(ctx, id.Aggregate()); err != nil {
			return err
		}
	}
	if id, err := domain.ParseJobID(n.Job); err == nil {
		if _, err := s.Sees(ctx, id.Aggregate()); err != nil {
			return err
		}
	}
	for _, one := range []struct {
		field, value, lists string
		there               func(ctx context.Context, value string) (bool, error)
	}{
		{"profile", n.Profile, "`accession profile ls` lists them", s.hasProfile},
		{"collection", n.Collection, "`accession collection ls` lists them", s.hasCollection},
		{"submitter", n.Submitter, "`accession batch ls` shows who has deposited", s.hasSubmitter},
		{"dataset", n.Dataset, "`accession dataset ls` lists them", s.hasDataset},
	} {
		if one.value == "" {
			continue
		}
		if there, err := one.there(ctx, one.value); err == nil && !there {
			return &app.Error{Kind: app.NotFound, What: "choose by " + one.field, Err: fmt.Errorf("there is no %s %q", one.field, one.value), Hint: one.lists}
		}
	}
	return nil
}

// In reports whether the caller has any right in a collection.
func (s Of) In(collection string) bool {
	return s.Caller.May(access.See, collection) || s.Caller.May(access.Deposit, collection)
}

func (s Of) hasProfile(ctx context.Context, name string) (bool, error) {
	profiles, err := s.App.ProfileSet(ctx)
	if err != nil {
		return false, err
	}
	if p, err := profiles.Get(name); err == nil && s.In(p.Collection) {
		return true, nil
	}
	return s.hasBatches(ctx, app.Filter{Profile: name})
}

func (s Of) hasCollection(ctx context.Context, name string) (bool, error) {
	profiles, err := s.App.ProfileSet(ctx)
	if err != nil {
		return false, err
	}
	for _, of := range profiles.Names() {
		if p, err := profiles.Get(of); err == nil && p.Collection == name && s.In(name) {
			return true, nil
		}
	}
	return s.hasBatches(ctx, app.Filter{Collection: name})
}

// hasDataset reports whether there is a dataset of this name, or for who may see all
// collections any work that is about it, which needs none.
func (s Of) hasDataset(ctx context.Context, name string) (bool, error) {
	all, err := directories.Datasets(ctx, s.App)
	if err != nil || slices.ContainsFunc(all, func(d directories.Dataset) bool { return d.Name == name && s.In(d.Collection) }) {
		return err == nil, err
	}
	work, err := entries.Ls(ctx, s.App, entries.Filter{Dataset: name, Limit: 1}, "")
	return len(work.Items) > 0 && s.Caller.May(access.See, ""), err
}

// catchUpTime is how long the tables may take to show what was accepted a moment ago.
const catchUpTime = 2 * time.Second

// hasSubmitter reports whether there is a user of this name, or anything that one has
// deposited or asked, also a moment ago. Of others a caller knows only what it may see.
func (s Of) hasSubmitter(ctx context.Context, name string) (bool, error) {
	if name == s.Caller.Name {
		return true, nil
	}
	if there, err := s.hasBatches(ctx, app.Filter{Submitter: name}); there || err != nil {
		return there, err
	}
	if s.Caller.May(access.See, "") {
		if there, err := s.hasUser(ctx, name); there || err != nil {
			return there, err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	if err := s.App.CatchUp(waiting); err != nil {
		return false, err // it may have deposited something that the tables do not show yet
	}
	return s.hasBatches(ctx, app.Filter{Submitter: name})
}

// hasUser reports whether there is a user of this name, or a query or a file in the drop
// folder that is its.
func (s Of) hasUser(ctx context.Context, name string) (bool, error) {
	records, err := s.App.Open.Records(ctx)
	if err != nil {
		return false, err
	}
	if users, err := records.Users(ctx, "", 1, name); err != nil || len(users) > 0 {
		return err == nil, err
	}
	if asked, err := queries.Ls(ctx, s.App, queries.Filter{Submitter: name, Limit: 1}, ""); err != nil || len(asked.Items) > 0 {
		return err == nil, err
	}
	for _, removed := range []bool{false, true} {
		if waiting, err := drops.List(ctx, s.App, name, removed); err != nil || len(waiting) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// hasBatches reports whether the caller sees a batch that the filter chooses.
func (s Of) hasBatches(ctx context.Context, f app.Filter) (bool, error) {
	sees := s.Caller.Filter()
	f.Sees = &sees
	p, err := s.App.Batches(ctx, app.BatchFilter{Filter: f, Limit: 1}, "", "")
	return len(p.Items) > 0, err
}
