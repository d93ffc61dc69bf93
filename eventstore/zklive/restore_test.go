package zklive_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// refuses checks that a restore is refused, and why.
func refuses(t *testing.T, err error, why string) {
	t.Helper()
	var refused *domain.Refused
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, why) {
		t.Errorf("%v, and not refused because %q", err, why)
	}
}

// shut checks that the tree cannot be opened, and what is said to do.
func (w *env) shut(t *testing.T, cfg zklive.Config, remedy string) {
	t.Helper()
	cfg.Servers, cfg.Root = servers(), w.root
	s, err := zklive.Open(t.Context(), cfg)
	if err == nil {
		_ = s.Close()
	}
	if !errors.Is(err, eventstore.ErrBroken) || !strings.Contains(err.Error(), remedy) {
		t.Errorf("%v, and not that %q", err, remedy)
	}
}

// A restore ends itself and no other: neither one that runs nor one that was
// interrupted, whichever of the two kinds.
// Shows: C10
func TestRestoreEndsNoOther(t *testing.T) {
	t.Parallel()
	w, restoring := &env{root: "/test-" + uuid.NewString()}, zklive.Config{Restoring: true}
	removedAfter(t, w.root)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const tree, log = "`accession restore zookeeper` begins it again", "`accession restore log` goes on"
	h := eventstore.History{Epoch: 1, NextBatch: 5, NextJob: 5}

	first := w.open(t, restoring)
	must(first.Restore(t.Context(), h, nil))
	second := w.open(t, restoring)
	refuses(t, second.Exclude(t.Context()), tree) // beside one that runs
	w.shut(t, zklive.Config{}, tree)
	must(first.Close())
	refuses(t, second.Exclude(t.Context()), tree) // behind one that was interrupted
	must(second.Restored(t.Context()))
	w.shut(t, zklive.Config{}, tree)
	must(second.Restore(t.Context(), h, nil))
	must(second.Restored(t.Context()))
	must(w.open(t, zklive.Config{}).Close())

	must(second.Exclude(t.Context()))
	third := w.open(t, restoring)
	refuses(t, third.Exclude(t.Context()), "another process")
	w.shut(t, zklive.Config{}, log)
	must(second.Close())
	refuses(t, third.Restore(t.Context(), h, nil), log)
	w.shut(t, zklive.Config{}, log)
	must(third.Exclude(t.Context())) // goes on with it
	must(third.Restored(t.Context()))
	beside := w.open(t, zklive.Config{})
	refuses(t, third.Exclude(t.Context()), "another process")
	must(beside.Close())
	must(w.open(t, zklive.Config{}).Close()) // what it made itself it took away
}
