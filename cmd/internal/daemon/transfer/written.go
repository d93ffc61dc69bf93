package transfer

import (
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// Written is a file that was written completely under a temporary name, or why it was not.
type Written struct {
	File int // its number in the job
	Is   payload.Measure
	Err  error

	part *store.Partial // nil when there is none, or it was ended
}

// Write writes a file under a temporary name. On an error nothing is left of it but what another
// attempt can use.
func Write(file int, create func() (*store.Partial, error), write func(*store.Partial) (payload.Measure, error)) Written {
	got := Written{File: file}
	part, err := create()
	if err != nil {
		got.Err = err
		return got
	}
	got.part = part
	if got.Is, got.Err = write(part); got.Err != nil {
		got.Abort()
	}
	return got
}

// Commit renames it to its name.
func (w *Written) Commit() {
	if w.part != nil {
		w.Err, w.part = w.part.Commit(), nil
	}
}

// Abort removes it.
func (w *Written) Abort() {
	if w.part != nil {
		w.part.Abort()
		w.part = nil
	}
}

// CommitAll renames many at once: for small files most of the time is spent waiting for
// the disk, which they can do together.
func CommitAll(all []Written) {
	var g errgroup.Group
	for i := range all {
		g.Go(func() error { all[i].Commit(); return nil })
	}
	_ = g.Wait() // each keeps its own error
}
