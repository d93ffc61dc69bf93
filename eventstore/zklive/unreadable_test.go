package zklive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
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

// TestUnreadableQueueSetting: a setting of a deposit queue that is damaged suspends that
// queue and no other, and counts as unreadable until it is written again.
func TestUnreadableQueueSetting(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	k := storetest.NewKit(t, w.store)
	five := 5
	limit := func() domain.SettingValue {
		five++
		n := five
		return domain.SettingValue{UserLimit: &domain.UserLimit{Allocation: &n}}
	}
	name := domain.UserLimitName("query", "ana")
	k.SetQueue(domain.SettingUserLimit, name, limit())
	node := w.root + "/queues/query/config/users/ana"
	for _, damage := range []string{"{", `{"user":"ben","allocation":1}`} {
		good, _, err := conn.Get(node)
		if err != nil {
			t.Fatal(err)
		}
		changed := w.store.QueueSettingsChanged("query")
		if _, err := w.store.QueueSettings(t.Context(), "query"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Multi(&zk.SetDataRequest{Path: node, Data: []byte(damage), Version: -1}, &zk.SetDataRequest{Path: w.root + "/queues/query/config", Version: -1}); err != nil {
			t.Fatal(err)
		}
		<-changed
		now, err := w.store.QueueSettings(t.Context(), "query")
		if err != nil || !now.Config.Suspended || len(now.Unreadable) != 1 || now.Unreadable[0] != domain.SettingAggregate(domain.SettingUserLimit, name) || w.store.Unreadable() != 1 {
			t.Errorf("%s: %+v, %v; %d are unreadable", damage, now, err, w.store.Unreadable())
		}
		if now, err := w.store.QueueSettings(t.Context(), "metadata"); err != nil || now.Config.Suspended {
			t.Errorf("%s: the other queue: %+v, %v", damage, now, err)
		}
		if _, err := w.store.Setting(t.Context(), domain.SettingUserLimit, name); !errors.Is(err, eventstore.ErrBroken) {
			t.Errorf("%s is read: %v", damage, err)
		}
		w.store.DropHolds()
		if _, err := w.store.Holds(t.Context()); err != nil || w.store.Unreadable() != 1 {
			t.Errorf("%s: a read of the holds ended the alarm (%v)", damage, err)
		}
		if _, err := conn.Set(node, good, -1); err != nil {
			t.Fatal(err)
		}
		k.SetQueue(domain.SettingUserLimit, name, limit())
		if now, err = w.store.QueueSettings(t.Context(), "query"); err != nil || now.Config.Suspended || now.Config.Allocation.For("ana") != five || w.store.Unreadable() != 0 {
			t.Errorf("%s, and written again: %+v, %v", damage, now, err)
		}
	}
}

// TestUnreadableClaim: a claim that cannot be read keeps no overdue lease from its end.
func TestUnreadableClaim(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for n := range 2 {
		k.Request("maps", "", 100, fmt.Sprint(n))
		leased, err := k.Handler.LeaseEntry(t.Context(), compute.Wants{}, eventstore.Lease{Worker: "them", SHA256: "ab", Timeout: time.Nanosecond}, storetest.Under(nil, false))
		if err != nil || leased.State.ID != compute.NewID(int64(n+1)) {
			t.Fatalf("%+v, %v", leased.State, err)
		}
	}
	if _, err := conn.Set(w.root+"/compute/claims/0000000001", []byte("{"), -1); err != nil {
		t.Fatal(err)
	}
	for {
		ended, err := k.Handler.Leases.EndOverdueLeases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(ended) == 1 && ended[0] == compute.NewID(2) {
			return
		}
	}
}
