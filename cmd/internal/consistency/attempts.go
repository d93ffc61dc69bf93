package consistency

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Attempts ends attempts at files.
type Attempts interface {
	// Lose ends the open attempt of a file whose worker has no entry any more (F13), and lets the
	// file wait again if it may. The attempt is that of the file as it is given.
	Lose(ctx context.Context, f domain.File) error
}

// attempts compares the files of datasets that are PROCESSING with their entries.
func (c *checker) attempts(g *group, f *folded) {
	for _, file := range f.files {
		if file.State == domain.FileProcessing && file.Spec.Dataset != "" {
			g.Go(func() error { return c.attempt(g.ctx, file) })
		}
	}
}

// attempt reports a file that is PROCESSING although no worker has its entry. A worker takes the
// entry before the file is PROCESSING, and ends it after the file has moved on.
func (c *checker) attempt(ctx context.Context, f domain.File) error {
	key := compute.Attempt{Hash: f.Hash, Number: f.ProcessingAttempts}.Key()
	got, err := c.withoutWorker(ctx, f, key)
	if err != nil || got == "" {
		return err
	}
	var end func(context.Context) error
	if c.Attempts != nil {
		end = func(ctx context.Context) error {
			// What was repaired before may have brought the entry back.
			if got, err := c.withoutWorker(ctx, f, key); err != nil || got == "" {
				return err
			}
			return c.Attempts.Lose(ctx, f)
		}
	}
	c.report(NewFinding(AttemptOrphan, f.Hash.Aggregate().String(), key, "an entry that "+f.Worker+" has", got, end))
	return nil
}

// withoutWorker says how the entry of a file that was PROCESSING stands; "" = its worker has it,
// verify says what is wrong with it, or the file has moved on.
func (c *checker) withoutWorker(ctx context.Context, f domain.File, key string) (got string, err error) {
	got = absent
	id, err := c.Live.EntryOfKey(ctx, key)
	if err == nil {
		var at eventstore.Loaded[compute.Entry]
		if at, err = c.Live.LoadEntry(ctx, id); err == nil {
			if at.State.Owned() && at.State.Worker == f.Worker {
				return "", nil
			}
			got = fmt.Sprintf("%s, which is %s", id, at.State.State)
		}
	}
	if errors.Is(err, eventstore.ErrBroken) {
		return "", nil
	}
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return "", err
	}
	last, err := c.Log.Last(ctx, f.Hash.Aggregate()) // after the entry: it was PROCESSING all the while
	if err != nil || last.Version != f.Version {
		return "", err
	}
	return got, nil
}
