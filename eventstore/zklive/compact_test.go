package zklive_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// nodesOf counts the nodes of a job.
func (w *env) nodesOf(t *testing.T, id domain.JobID) (n int) {
	t.Helper()
	for path := range w.dump(t) {
		if strings.Contains(path, string(id)) {
			n++
		}
	}
	return n
}

// TestFinishedJobsAreSmall: a job that has left its queue has three nodes and is read as
// before. In a tree of format 1 it keeps nine, because older programs may read it. A job
// of either kind is read, found as expected and repaired in a tree of the other, goes with
// its deleted batch, and with one that was cleaned up.
// Shows: P8
func TestFinishedJobsAreSmall(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// inFormat opens the tree again after its format was changed; "" = it is lost, as that
	// of programs which did not write it down.
	inFormat := func(format string) *storetest.Kit {
		t.Helper()
		err := conn.Delete(w.root+"/config/format", -1)
		if err == nil && format != "" {
			_, err = conn.Create(w.root+"/config/format", []byte(format), 0, zk.WorldACL(zk.PermAll))
		}
		if err != nil {
			t.Fatal(err)
		}
		return storetest.NewKit(t, w.open(t, zklive.Config{}))
	}
	clean := func(k *storetest.Kit, id domain.JobID, nodes int) {
		t.Helper()
		k.Walk(id, domain.JobCompleted)
		before := k.Job(id).State
		k.DoJob(id, domain.CleanJob{}, storetest.Operator())
		after := k.Job(id).State
		before.Cleaned, before.Version, before.Modified, before.CommandID = true, after.Version, after.Modified, after.CommandID
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("%s was read before (-) and after it left its queue (+):\n%s", id, d)
		}
		if n := w.nodesOf(t, id); n != nodes {
			t.Errorf("%s has %d nodes, want %d", id, n, nodes)
		}
	}
	compact := storetest.NewKit(t, w.store)
	failed, inFailed := compact.Started(5, 5, 5)
	done, inDone := compact.Started(5, 5)
	clean(compact, inFailed[0], 3)
	clean(compact, inDone[0], 3)
	old := inFormat("")
	clean(old, inFailed[1], 9)
	clean(old, inDone[1], 9)
	old.Fail(inFailed[2], domain.JobDownloading)
	old.Reported(failed)
	old.Reported(done)

	finished := []domain.JobID{inFailed[0], inFailed[1], inDone[0], inDone[1]}
	repair := func(k *storetest.Kit, nodes int) {
		t.Helper()
		for _, id := range finished {
			at := k.Job(id)
			ref := "/batches/" + string(at.State.Configuration.BatchID) + "/states/batch-completed/" + string(id)
			observed, err := w.store.InspectJob(t.Context(), id, ref)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(w.store.ExpectedJob(at.State, observed), observed.Nodes); d != "" {
				t.Errorf("%s has other nodes than expected (-want +got):\n%s", id, d)
			}
			if _, err := k.Handler.RepairJob(t.Context(), at.State, observed, nil, storetest.Operator()); err != nil {
				t.Fatal(err)
			}
			if n := w.nodesOf(t, id); n != nodes {
				t.Errorf("%s was repaired and has %d nodes, want %d", id, n, nodes)
			}
			again := k.Job(id).State
			if at.State.Version, at.State.Modified, at.State.CommandID = again.Version, again.Modified, again.CommandID; !cmp.Equal(at.State, again) {
				t.Errorf("the repair (+) of %s has changed it:\n%s", id, cmp.Diff(at.State, again))
			}
		}
	}
	repair(old, 9)
	repair(inFormat(`{"reads":2,"writes":2}`), 3)
	old = inFormat(`{"reads":1,"writes":1}`)
	work := func(domain.Job) error { return nil }
	for id, cmd := range map[domain.BatchID]domain.BatchCommand{failed: domain.DeleteBatch{}, done: domain.CleanBatch{}} {
		old.DoBatch(id, cmd, storetest.Operator())
		if err := old.Handler.FinishDeletion(t.Context(), id, storetest.Operator(), work); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range append(inFailed, inDone...) {
		if n := w.nodesOf(t, id); n > 0 {
			t.Errorf("%s has left %d nodes", id, n)
		}
	}
}

// TestReadWhileAJobLeavesItsQueue: a job that leaves its queue, and its nodes with it,
// while it is read or claimed is never taken for one that lacks nodes.
func TestReadWhileAJobLeavesItsQueue(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	_, jobs := k.Started(slices.Repeat([]int{5}, 12)...)
	for _, id := range jobs {
		k.Walk(id, domain.JobCompleted)
		left := make(chan struct{})
		var g errgroup.Group
		for range 4 {
			g.Go(func() error {
				for {
					_, err := w.store.Job(t.Context(), id)
					if err != nil {
						return err
					}
					select {
					case <-left:
						return nil
					default:
					}
				}
			})
		}
		k.DoJob(id, domain.CleanJob{}, storetest.Operator())
		close(left)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		_, _, err := w.store.ClaimJob(t.Context(), id)
		k.WantErr(err, eventstore.ErrConflict)
	}
}
