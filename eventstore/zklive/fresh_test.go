package zklive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/eventstore/zklive"
)

// A tree in which nothing ever happened is used only when that is allowed, and nothing
// is made before; whoever has begun to use it meanwhile has answered for it.
func TestFreshTreeIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(context.Context, *zklive.Store) error{
		"a deposit": func(ctx context.Context, s *zklive.Store) error { _, err := s.ReserveBatchID(ctx); return err },
		"a query":   func(ctx context.Context, s *zklive.Store) error { _, err := s.ReserveQueryID(ctx); return err },
		"an entry":  func(ctx context.Context, s *zklive.Store) error { _, err := s.ReserveEntryID(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			freshTreeIsAskedFor(t, begin)
		})
	}
}

func freshTreeIsAskedFor(t *testing.T, begin func(context.Context, *zklive.Store) error) {
	t.Helper()
	refused := errors.New("the log has events")
	asked := 0
	cfg := zklive.Config{Servers: servers(), Root: "/test-" + uuid.NewString(),
		CheckNew: func(context.Context) error { asked++; return refused }}
	if s, err := zklive.Open(t.Context(), cfg); !errors.Is(err, refused) {
		t.Fatalf("%v, %v: no tree, and it is opened", s, err)
	}
	restoring := cfg
	restoring.Restoring = true
	w := &env{root: cfg.Root}
	removedAfter(t, w.root)
	w.store = w.open(t, restoring)
	if untouched, err := w.store.Untouched(t.Context()); err != nil || !untouched {
		t.Errorf("untouched: %v, %v", untouched, err)
	}
	if s, err := zklive.Open(t.Context(), cfg); !errors.Is(err, refused) || asked != 2 {
		t.Fatalf("%v, %v: an empty tree is opened; asked %d times", s, err, asked)
	}
	cfg.CheckNew = func(ctx context.Context) error {
		return errors.Join(refused, begin(ctx, w.store)) // and the log has it
	}
	w.open(t, cfg)
	cfg.CheckNew = func(context.Context) error { return errors.New("a tree in use is asked for") }
	w.open(t, cfg)
}
