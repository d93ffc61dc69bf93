package zklive_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
	zktree "github.com/accession-ingest/accession/internal/testkit/tree"
)

// cutAt is a context that ends when it was looked at n times.
type cutAt struct {
	context.Context
	left *atomic.Int64
}

func (c cutAt) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

func (c cutAt) Done() <-chan struct{} {
	if c.left.Add(-1) < 0 {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return c.Context.Done()
}

// ending is how a batch leaves: the command, and whether one of its jobs has failed.
type ending struct {
	command domain.BatchCommand
	failed  bool
}

// TestDeletionKilledAnywhere: a deletion (B11) and a clean-up (B13, B14) that end at any
// of their steps are finished by another process, and then neither a node nor a
// working directory of the batch is left.
func TestDeletionKilledAnywhere(t *testing.T) {
	t.Parallel()
	const side = 4 // several at once: they wait for the disk of the server
	for first := range int64(side) {
		for name, end := range map[string]ending{"deleted": {domain.DeleteBatch{}, true}, "cleaned": {domain.CleanBatch{}, false}, "retired": {domain.CleanBatch{}, true}} {
			t.Run(fmt.Sprint(name, first), func(t *testing.T) {
				t.Parallel()
				w := newEnv(t)
				k, janitor := storetest.NewKit(t, w.store), storetest.NewKit(t, w.open(t, zklive.Config{}))
				for n := first + 1; w.killed(t, k, janitor, n, end) != nil; n += side {
					if n > 1000 {
						t.Fatal("the deletion never ended")
					}
				}
			})
		}
	}
}

// killed ends a batch by cutting its deletion off at step n, and lets the other
// process finish it. The answer is that of the first.
func (w *env) killed(t *testing.T, k, janitor *storetest.Kit, n int64, end ending) error {
	t.Helper()
	work := t.TempDir()
	removeWork := func(j domain.Job) error { return os.RemoveAll(filepath.Join(work, string(j.ID))) }
	id, jobs := k.Started(5, 5)
	k.Walk(jobs[0], domain.JobCompleted)
	if end.failed {
		k.Fail(jobs[1], domain.JobDownloading)
	} else {
		k.Walk(jobs[1], domain.JobCompleted)
		k.DoJob(jobs[1], domain.CleanJob{}, storetest.Operator())
	}
	for _, j := range jobs {
		if err := os.MkdirAll(filepath.Join(work, string(j), "files"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k.Reported(id)

	left := &atomic.Int64{}
	left.Store(n)
	ctx := cutAt{t.Context(), left}
	_, err := k.Handler.Batch(ctx, id, end.command, storetest.Operator())
	if err == nil {
		err = k.Handler.FinishDeletion(ctx, id, storetest.Operator(), removeWork)
	}
	if err != nil {
		// What was sent may still arrive; a write of another goes behind it.
		if at, lerr := janitor.Store.Batch(t.Context(), id); lerr == nil && at.State.State != domain.BatchDeleted {
			if _, derr := janitor.Handler.Batch(t.Context(), id, end.command, storetest.Operator()); derr != nil && janitor.Batch(id).State.State != domain.BatchDeleted {
				t.Fatalf("killed at step %d (%v): %v", n, err, derr)
			}
		}
		if ferr := janitor.Handler.FinishDeletion(t.Context(), id, eventstore.Meta{Actor: domain.DaemonActor(domain.DaemonJanitor)}, removeWork); ferr != nil {
			t.Fatalf("killed at step %d (%v): not finished: %v", n, err, ferr)
		}
	}
	for path := range w.dump(t) {
		if strings.Contains(path, string(id)) || strings.Contains(path, string(jobs[0])) || strings.Contains(path, string(jobs[1])) {
			t.Errorf("killed at step %d (%v) it leaves %s", n, err, path)
		}
	}
	if found, rerr := os.ReadDir(work); rerr != nil || len(found) > 0 {
		t.Errorf("killed at step %d (%v) it leaves %v, %v", n, err, found, rerr)
	}
	wantJobEvents := 1
	if _, cleaned := end.command.(domain.CleanBatch); cleaned {
		wantJobEvents = 0
	}
	for _, j := range jobs {
		deleted := 0
		for _, e := range k.Events(j.Aggregate()) {
			if e.Type == domain.EventJobDeleted {
				deleted++
			}
		}
		if deleted != wantJobEvents {
			t.Errorf("killed at step %d (%v): %s has %d events of its deletion, want %d", n, err, j, deleted, wantJobEvents)
		}
	}
	return err
}

func (w *env) dump(t *testing.T) map[string]zktree.Node {
	t.Helper()
	nodes := w.nodes(t, "/batches")
	maps.Copy(nodes, w.nodes(t, "/jobs"))
	return nodes
}

// TestCleanUpOfUnreadableJobs: jobs that cannot be read go with their batch when it is
// cleaned up, whatever of them is damaged.
func TestCleanUpOfUnreadableJobs(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	id, jobs := k.Started(5, 5, 5)
	for _, j := range jobs {
		k.Walk(j, domain.JobCompleted)
	}
	k.Reported(id)
	if _, err := k.Handler.Batch(t.Context(), id, domain.CleanBatch{}, storetest.Operator()); err != nil {
		t.Fatal(err)
	}
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dir := w.root + "/jobs/"
	err = conn.Delete(dir+string(jobs[0])+"/configuration", -1)
	if err == nil {
		_, err = conn.Set(dir+string(jobs[1])+"/status", []byte("{"), -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	var worked sync.Map
	if err := k.Handler.FinishDeletion(t.Context(), id, storetest.Operator(), func(j domain.Job) error {
		worked.Store(j.ID, j.Configuration.BatchID)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	left := w.dump(t)
	for _, j := range jobs {
		if batch, _ := worked.Load(j); batch != id {
			t.Errorf("the working directory of %s is removed under %v, want %s", j, batch, id)
		}
		for path := range left {
			if strings.Contains(path, string(j)) || strings.Contains(path, string(id)) {
				t.Errorf("it leaves %s", path)
			}
		}
	}
}
