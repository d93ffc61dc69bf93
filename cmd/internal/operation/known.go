package operation

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
	"github.com/accession-ingest/accession/domain/access"
)

// named are the things that a filter names.
type named struct{ profile, collection, submitter, batch, job, dataset string }

func (f *Filter) named(dataset string) named {
	return named{dataset: dataset, profile: f.Profile, collection: f.Collection, submitter: f.Submitter}
}

// orUnknown returns a page, or if it is empty the error about what the filter names and is
// not there for the caller.
func orUnknown[T any](ctx context.Context, c *Call, n named, p app.Page[T], err error) (app.Page[T], error) {
	if err == nil && len(p.Items) == 0 {
		err = c.known(ctx, n)
	}
	return p, err
}

// known returns an error of kind NotFound, with the name of the field, if a filter names what
// is not there for the caller: then nothing can ever be selected. What no server can say now
// counts as known.
func (c *Call) known(ctx context.Context, n named) error {
	for _, id := range []thing{&BatchID{ID: n.batch}, &JobID{ID: n.job}} {
		a, err := id.Thing()
		if err != nil { // none, or no id, which is refused elsewhere
			continue
		}
		owner, err := c.owner(ctx, a)
		if err == nil && !c.Caller.Filter().Selects(owner.Collection, owner.Submitter) {
			err = noSuch(a)
		}
		if err != nil {
			return err
		}
	}
	for _, one := range []struct {
		field, value, lists string
		there               func(ctx context.Context, value string) (bool, error)
	}{
		{"profile", n.profile, "`accession profile ls` lists them", c.hasProfile},
		{"collection", n.collection, "`accession collection ls` lists them", c.hasCollection},
		{"submitter", n.submitter, "`accession batch ls` shows who has deposited", c.hasSubmitter},
		{"dataset", n.dataset, "`accession dataset ls` lists them", c.hasDataset},
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

// inSight reports whether the caller has any right in a collection.
func (c *Call) inSight(collection string) bool {
	return c.Caller.May(access.See, collection) || c.Caller.May(access.Deposit, collection)
}

func (c *Call) hasProfile(ctx context.Context, name string) (bool, error) {
	profiles, err := c.App.ProfileSet(ctx)
	if err != nil {
		return false, err
	}
	if p, err := profiles.Get(name); err == nil && c.inSight(p.Collection) {
		return true, nil
	}
	return c.hasBatches(ctx, app.Filter{Profile: name})
}

func (c *Call) hasCollection(ctx context.Context, name string) (bool, error) {
	profiles, err := c.App.ProfileSet(ctx)
	if err != nil {
		return false, err
	}
	for _, of := range profiles.Names() {
		if p, err := profiles.Get(of); err == nil && p.Collection == name && c.inSight(name) {
			return true, nil
		}
	}
	return c.hasBatches(ctx, app.Filter{Collection: name})
}

// hasDataset reports whether there is a dataset of this name, or for who may see all
// collections any work that is about it, which needs none.
func (c *Call) hasDataset(ctx context.Context, name string) (bool, error) {
	all, err := directories.Datasets(ctx, c.App)
	if err != nil || slices.ContainsFunc(all, func(d directories.Dataset) bool { return d.Name == name && c.inSight(d.Collection) }) {
		return err == nil, err
	}
	work, err := entries.Ls(ctx, c.App, entries.Filter{Dataset: name, Limit: 1}, "")
	return len(work.Items) > 0 && c.Caller.May(access.See, ""), err
}

// catchUpTime is how long the tables may take to show what was accepted a moment ago.
const catchUpTime = 2 * time.Second

// hasSubmitter reports whether there is a user of this name, or anything that one has
// deposited or asked, also a moment ago. Of others a caller knows only what it may see.
func (c *Call) hasSubmitter(ctx context.Context, name string) (bool, error) {
	if name == c.Caller.Name {
		return true, nil
	}
	if there, err := c.hasBatches(ctx, app.Filter{Submitter: name}); there || err != nil {
		return there, err
	}
	if c.Caller.May(access.See, "") {
		if there, err := c.hasUser(ctx, name); there || err != nil {
			return there, err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	if err := c.App.CatchUp(waiting); err != nil {
		return false, err // it may have deposited something that the tables do not show yet
	}
	return c.hasBatches(ctx, app.Filter{Submitter: name})
}

// hasUser reports whether there is a user of this name, or a query or a file in the drop
// folder that is its.
func (c *Call) hasUser(ctx context.Context, name string) (bool, error) {
	records, err := c.App.Open.Records(ctx)
	if err != nil {
		return false, err
	}
	if users, err := records.Users(ctx, "", 1, name); err != nil || len(users) > 0 {
		return err == nil, err
	}
	if asked, err := queries.Ls(ctx, c.App, queries.Filter{Submitter: name, Limit: 1}, ""); err != nil || len(asked.Items) > 0 {
		return err == nil, err
	}
	for _, removed := range []bool{false, true} {
		if waiting, err := drops.List(ctx, c.App, name, removed); err != nil || len(waiting) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// hasBatches reports whether the caller sees a batch that the filter chooses.
func (c *Call) hasBatches(ctx context.Context, f app.Filter) (bool, error) {
	sees := c.Caller.Filter()
	f.Sees = &sees
	p, err := c.App.Batches(ctx, app.BatchFilter{Filter: f, Limit: 1}, "")
	return len(p.Items) > 0, err
}
