package zklive_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
	zktree "github.com/accession-ingest/accession/internal/testkit/tree"
)

// env is a ZooKeeper tree of a test's own.
type env struct {
	root  string
	store *zklive.Store
}

func newEnv(t *testing.T) *env {
	t.Helper()
	w := &env{root: "/test-" + uuid.NewString()}
	removedAfter(t, w.root)
	w.store = w.open(t, zklive.Config{})
	return w
}

// remove removes a tree.
func remove(t testing.TB, root string) {
	t.Helper()
	if err := zktree.Destroy(context.WithoutCancel(t.Context()), servers(), root); err != nil {
		t.Errorf("remove the test's tree: %v", err)
	}
}

// removedAfter removes a tree when the test is over.
func removedAfter(t testing.TB, root string) {
	t.Helper()
	t.Cleanup(func() { remove(t, root) })
}

// nodes returns a node and all nodes below it, by name below the root.
func (w *env) nodes(t *testing.T, name string) map[string]zktree.Node {
	t.Helper()
	all, err := zktree.Dump(t.Context(), servers(), w.root, name)
	if err != nil {
		t.Fatal(err)
	}
	return all
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
