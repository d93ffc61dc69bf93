package zklive_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// A job goes on though its promise is not there, or is there already: a program
// from before these promises moved it, or somebody cut the node off.
func TestPromisesThatAreOtherwise(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	conn := rawConn(t)
	batch, jobs := k.Started(5, 5, 5)
	node := func(id domain.JobID) string { return w.root + "/space/" + string(id) }
	cut := func(id domain.JobID) {
		t.Helper()
		if err := conn.Delete(node(id), -1); err != nil {
			t.Fatal(err)
		}
	}
	put := func(id domain.JobID) {
		t.Helper()
		if _, err := conn.Create(node(id), []byte("7"), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	there := func(id domain.JobID, want string) {
		t.Helper()
		if got := w.nodes(t, "/space")["/space/"+string(id)].Data; got != want {
			t.Errorf("promised %q to %s, not %q", got, id, want)
		}
	}

	put(jobs[0])
	k.Walk(jobs[0], domain.JobProvisioning)
	if _, err := w.store.Promise(t.Context(), jobs[0]); err == nil {
		t.Error("it counts before J7")
	}
	k.Walk(jobs[0], domain.JobDownloading)
	there(jobs[0], "20")
	cut(jobs[0])
	k.Walk(jobs[0], domain.JobProcessing)
	there(jobs[0], "")

	// Claimed and handed over, and among others in one multi.
	k.Walk(jobs[1], domain.JobProvisioning)
	put(jobs[1])
	c, at, err := w.store.ClaimJob(t.Context(), jobs[1])
	if err != nil {
		t.Fatal(err)
	}
	o := storetest.Under(c, false)
	o.Known, o.Next = &at, domain.JobDownloading
	r := k.DoJob(jobs[1], domain.ProvisionJob{}, o)
	there(jobs[1], "20")
	if r.Claim == nil {
		t.Error("it was not handed over")
	}
	cut(jobs[1])
	k.DoJob(jobs[1], domain.FailJob{Reason: storetest.Broken()}, storetest.Under(r.Claim, false))

	// Deleted with its batch.
	k.Fail(jobs[2], domain.JobDownloading)
	k.Walk(jobs[0], domain.JobCompleted)
	k.Reported(batch)
	k.DoJob(jobs[2], domain.RequeueJob{}, storetest.Operator())
	cut(jobs[2])
	k.DoBatch(batch, domain.DeleteBatch{}, storetest.Operator())
	if err := k.Handler.FinishDeletion(t.Context(), batch, storetest.Operator(), func(domain.Job) error { return nil }); err != nil {
		t.Error(err)
	}
}

// A promise that cannot be read is an answer of its own.
func TestBrokenPromise(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	_, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobDownloading)
	if _, err := rawConn(t).Set(w.root+"/space/"+string(jobs[0]), []byte("x"), -1); err != nil {
		t.Fatal(err)
	}
	_, err := w.store.Promise(t.Context(), jobs[0])
	k.WantErr(err, eventstore.ErrBroken)
}

func rawConn(t *testing.T) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
