package zklive_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestGrabEndsInSilence: a grabbed batch, like a claimed job, is cut off when no server has
// answered for too long.
// Shows: P5
func TestGrabEndsInSilence(t *testing.T) {
	t.Parallel()
	w := &env{root: "/test-" + uuid.NewString()}
	k := storetest.NewRingKit(t, w.open(t, zklive.Config{}))
	k.Deposits("ana1")
	if c := k.Grab().Claim; c.Silent == nil || c.Lost == nil {
		t.Errorf("the claim of a grab is %+v", c)
	}
}

// TestGrabAfterALostAnswer: while it is not known what became of the grab of a batch, its user
// is not passed over: the batch is next when that is known.
// Shows: P11
func TestGrabAfterALostAnswer(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewRingKit(t, w.store)
	names := k.Deposits("ana1 ana2 ben1 ben2")
	var first domain.BatchID
	for id, name := range names {
		if name == "ana1" {
			first = id
		}
	}
	end := w.store.KeepClaim(first.Aggregate())
	grabbed := make(chan string)
	go func() {
		for range names {
			grabbed <- names[k.Grab().State.ID]
		}
	}()
	select {
	case name := <-grabbed:
		t.Errorf("%s is grabbed, and ana passed over", name)
		end()
		for range len(names) - 1 {
			<-grabbed
		}
		return
	case <-time.After(300 * time.Millisecond): // it is tried again and again
	}
	end()
	for _, want := range []string{"ana1", "ben1", "ana2", "ben2"} {
		if name := <-grabbed; name != want {
			t.Errorf("grabbed %s, want %s", name, want)
		}
	}
}

// TestGrabOfASlowProcess: a user is not passed over because another processor is faster, however
// often.
// Shows: P11
func TestGrabOfASlowProcess(t *testing.T) {
	t.Parallel()
	const faster = 15
	w := newEnv(t)
	k, other := storetest.NewRingKit(t, w.store), storetest.NewRingKit(t, w.open(t, zklive.Config{}))
	set := func(kind domain.SettingKind, name string, to domain.SettingValue) {
		if _, err := k.Handler.QueueSetting(t.Context(), kind, name, func(domain.SettingValue) domain.SettingValue { return to }, "a test", storetest.Operator()); err != nil {
			t.Fatal(err)
		}
	}
	set(domain.SettingProcessor, domain.ProcessorName(fair.QueueMetadata, "extra"), domain.SettingValue{Processor: &domain.Processor{Queue: fair.QueueMetadata, Users: []string{"ben"}}})
	k.Deposits("ana1" + strings.Repeat(" ben1", faster+1))
	slow := &forestalled{Rings: k.Store.Rings, times: faster, by: func() {
		res, err := other.Handler.Grab(t.Context(), fair.QueueMetadata, "extra", storetest.Operator())
		if err != nil {
			t.Error(err)
			return
		}
		other.EndGrabbed(res)
	}}
	k.Handler.Rings = slow
	if user := k.Grab().State.Submission.Submitter; user != "ana" || slow.times != 0 {
		t.Errorf("grabbed %s's, when the other had %d left", user, slow.times)
	}
}

// TestGrabOfACallerWhoIsGone: a caller who does not wait any more gets the error of their
// context, and not that there is nothing to grab.
func TestGrabOfACallerWhoIsGone(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewRingKit(t, w.store)
	k.Deposits("ana1")
	k.Grab()
	for i := range 500 { // at whatever moment the caller goes
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Microsecond)
		_, err := k.Handler.Grab(ctx, fair.QueueMetadata, "default", storetest.Operator())
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("grabs %v after %d µs, want %v", err, i, context.DeadlineExceeded)
		}
	}
}

// forestalled are rings in which something else is done before each of some writes.
type forestalled struct {
	eventstore.Rings
	times int
	by    func()
}

func (f *forestalled) Grab(ctx context.Context, queue, processor string, write func(eventstore.Leave) error) error {
	return f.Rings.Grab(ctx, queue, processor, func(l eventstore.Leave) error {
		if f.times > 0 {
			f.times--
			f.by()
		}
		return write(l)
	})
}

// TestGrabPassesOverWhatCannotLeave: a deposit whose nodes are gone, and one whose entry has
// stayed in the ring, hold up their users alone.
// Shows: P5
func TestGrabPassesOverWhatCannotLeave(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewRingKit(t, w.store)
	names := k.Deposits("ana1 ben1 ben2 cleo1")
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	nodes := []string{"/submission", "/status", ""}
	for id, name := range names {
		for _, node := range nodes {
			if name != "ana1" {
				break
			}
			if err := conn.Delete(w.root+"/batches/"+string(id)+node, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := conn.Create(w.root+"/queues/metadata/users/0000000003-cleo/bid0000000000-0", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ben1", "ben2"} {
		if got := names[k.Grab().State.ID]; got != want {
			t.Errorf("grabbed %s, want %s", got, want)
		}
	}
}

// TestBusyRingIsInspected: a deposit queue that is written all the time has no faults, and if
// the running deposits of a user are counted wrongly this is found and repaired.
func TestBusyRingIsInspected(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewRingKit(t, w.store)
	k.Deposits("ana1")
	k.Grab()
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, own := t.Context(), w.open(t, zklive.Config{})
	events := func(ctx context.Context) (at eventstore.RingState, complete bool, err error) {
		for shard := range own.Shards() {
			items, err := own.Read(ctx, shard, eventstore.Offset{}, 1<<20)
			if err != nil {
				return at, false, err
			}
			for _, it := range items {
				for _, e := range it.Events {
					if m, is := domain.MoveOfBatch(e.Data); is {
						at.ApplyOf(e.Aggregate.ID, m.Ticket, m.Ring)
					}
				}
			}
		}
		return at, true, nil
	}
	inspect := func(when string, want int) {
		faults, err := own.InspectRing(ctx, fair.QueueMetadata, events)
		if busy := errors.Is(err, eventstore.ErrRingInUse); err != nil && !busy || busy && want > 0 || len(faults) != want {
			t.Errorf("%s: %v, %v", when, faults, err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			inspect("in use", 0)
		}
		for _, wrong := range []string{`{"n":0}`, `{"n":3}`} {
			if _, err := conn.Set(w.root+"/queues/metadata/running/ana", []byte(wrong), -1); err != nil {
				t.Error(err)
			}
			inspect(wrong, 1)
			if err := own.RepairRing(ctx, fair.QueueMetadata, events); err != nil {
				t.Error(err)
			}
			inspect(wrong+" repaired", 0)
		}
	}()
	for busy := true; busy; {
		k.Deposits("ben1 cleo1")
		k.EndGrabbed(k.Grab())
		k.EndGrabbed(k.Grab())
		select {
		case <-done:
			busy = false
		default:
		}
	}
}

// TestFullIsNoDamage: a grab that is refused since the outbox is full stays refused for that
// reason, however often, and its user is not passed over.
func TestFullIsNoDamage(t *testing.T) {
	t.Parallel()
	k := storetest.NewRingKit(t, newEnv(t).store)
	k.Deposits("ana1 ben1")
	for range 30 {
		err := k.Store.Rings.Grab(t.Context(), fair.QueueMetadata, "default", func(l eventstore.Leave) error {
			if l.Decision.User != "ana" {
				t.Errorf("%s is served", l.Decision.User)
			}
			return eventstore.ErrFull
		})
		if !errors.Is(err, eventstore.ErrFull) {
			t.Fatal(err)
		}
	}
}
