package operation

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain"
)

// batch returns the batch that a list is limited to, "" = none. One that the caller may not
// see does not exist.
func (c *Call) batch(ctx context.Context, text string) (domain.BatchID, error) {
	if text == "" {
		return "", nil
	}
	a, err := (&BatchID{ID: text}).Thing()
	if err == nil {
		err = c.sees(ctx, a)
	}
	return domain.BatchID(a.ID), err
}

// job is batch for jobs.
func (c *Call) job(ctx context.Context, text string) (domain.JobID, error) {
	if text == "" {
		return "", nil
	}
	a, err := (&JobID{ID: text}).Thing()
	if err == nil {
		err = c.sees(ctx, a)
	}
	return domain.JobID(a.ID), err
}

// file is batch for files.
func (c *Call) file(ctx context.Context, text string) (domain.FileHash, error) {
	if text == "" {
		return "", nil
	}
	a, err := (&FileHash{ID: text}).Thing()
	if err == nil {
		err = c.sees(ctx, a)
	}
	return domain.FileHash(a.ID), err
}

// sees returns an error if the caller may not see a thing. Of a user of the machine, who sees
// all, it asks nothing: the use case looks whether the thing is there.
func (c *Call) sees(ctx context.Context, a domain.Aggregate) error {
	if c.machine {
		return nil
	}
	_, err := c.sight().Sees(ctx, a)
	return err
}

// sight returns what is there for the caller.
func (c *Call) sight() sight.Of { return sight.Of{App: c.App, Caller: c.Caller} }

func (f *Filter) named(dataset string) sight.Named {
	return sight.Named{Dataset: dataset, Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter}
}

// orUnknown returns a page, or if it is empty the error about what the filter names and is
// not there for the caller.
func orUnknown[T any](ctx context.Context, c *Call, n sight.Named, p app.Page[T], err error) (app.Page[T], error) {
	if err == nil && len(p.Items) == 0 {
		err = c.sight().Known(ctx, n)
	}
	return p, err
}

// among returns a state that a list is limited to, "" = none.
func among[S ~string](text string, states []S, more ...S) (S, error) {
	if text == "" || slices.Contains(states, S(text)) || slices.Contains(more, S(text)) {
		return S(text), nil
	}
	return "", invalid("state=%q is not one of %v", text, append(slices.Clone(states), more...))
}

// orElse returns err, if there is one, or what get returns.
func orElse[T any](err error, get func() (T, error)) (v T, _ error) {
	if err != nil {
		return v, err
	}
	return get()
}
