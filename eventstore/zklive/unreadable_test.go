package zklive_test

import (
	"context"
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
	w := newEnv(t)
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
	if _, at, err := w.store.NextJob(t.Context(), domain.JobPending, nil); err != nil || at.State.ID != jobs[2] {
		t.Errorf("next is %s (%v), want %s", at.State.ID, err, jobs[2])
	}
	if n := w.store.Unreadable(); n != 2 {
		t.Errorf("%d jobs count as unreadable, want 2", n)
	}
}

// TestUnreadableHold: a hold that is no JSON holds what it is for, and no other queue or
// collection.
func TestUnreadableHold(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, node := range []string{"/locks/queue/notify", "/locks/collections/elsewhere"} {
		if _, err := conn.Create(w.root+node, []byte("{"), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	_, jobs := storetest.NewKit(t, w.store).Started(5)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, at, err := w.store.NextJob(ctx, domain.JobPending, nil); err != nil || at.State.ID != jobs[0] {
		t.Errorf("next is %s (%v), want %s", at.State.ID, err, jobs[0])
	}
	now, err := w.store.Holds(ctx)
	if err != nil || now.Queues["notify"].By != domain.ByUnknown || now.Collections["elsewhere"].By != domain.ByUnknown {
		t.Errorf("%+v, %v", now, err)
	}
}
