package zklive_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// env is a ZooKeeper tree of a test's own.
type env struct {
	root  string
	store *zklive.Store
}

func newEnv(t *testing.T) *env {
	t.Helper()
	w := &env{root: "/test-" + uuid.NewString()}
	w.store = w.open(t, zklive.Config{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.store.Destroy(ctx); err != nil {
			t.Errorf("remove the test's tree: %v", err)
		}
	})
	return w
}

func (w *env) open(t *testing.T, cfg zklive.Config) *zklive.Store {
	t.Helper()
	if servers()[0] == "" {
		t.Fatal("ACCESSION_TEST_ZOOKEEPER is not set: run the tests through `make test` or `accession stack exec -- go test ./...`")
	}
	cfg.Servers, cfg.Root = servers(), w.root
	s, err := zklive.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// servers are those that tests may use.
func servers() []string { return []string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")} }

func (w *env) handler() *eventstore.Handler { return handlerOf(w.store) }

func handlerOf(s *zklive.Store) *eventstore.Handler {
	return &eventstore.Handler{Live: s, Catalog: s, Clock: time.Now, NewID: uuid.NewString, Collection: func(p string) string { return p }}
}
