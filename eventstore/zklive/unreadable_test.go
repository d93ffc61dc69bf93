package zklive_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// TestUnreadableAtTheHead: a job that lacks a node, and one whose status is no
// status, are set aside and counted; those behind them go on.
func TestUnreadableAtTheHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, jobs := storetest.NewKit(t, w.store).Started(5, 5, 5)
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Delete(w.root+"/jobs/"+string(jobs[0])+"/configuration", -1); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Set(w.root+"/jobs/"+string(jobs[1])+"/status", []byte("{"), -1); err != nil {
		t.Fatal(err)
	}
	if _, at, err := w.store.NextJob(t.Context(), domain.JobPending); err != nil || at.State.ID != jobs[2] {
		t.Errorf("next is %s (%v), want %s", at.State.ID, err, jobs[2])
	}
	if n := w.store.Unreadable(); n != 2 {
		t.Errorf("%d jobs count as unreadable, want 2", n)
	}
}
