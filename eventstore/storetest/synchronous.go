package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// atOnce submits a synchronous deposit.
func (k *Kit) atOnce(user string) (eventstore.Result[domain.Batch], error) {
	k.Helper()
	sub := Submission()
	sub.Submitter = user
	return k.Handler.Batch(k.Context(), must[domain.BatchID](k)(k.Store.ReserveBatchID(k.Context())), domain.SubmitBatch{Submission: sub, Synchronous: true}, Operator())
}

// pool sets how many synchronous deposits run at once.
func (k *Kit) pool(most int) {
	k.Helper()
	k.SetQueue(domain.SettingDepositQueue, fair.QueueMetadata, domain.SettingValue{DepositQueue: &domain.DepositQueue{Synchronous: &most}})
}

// runs checks which synchronous deposits run, and that each is counted once.
func (k *Kit) runs(want ...domain.BatchID) {
	k.Helper()
	v := must[eventstore.RingView](k)(k.Store.Rings.View(k.Context(), fair.QueueMetadata))
	p := must[*eventstore.Pool](k)(k.Store.Rings.Pool(k.Context(), fair.QueueMetadata))
	if !slices.Equal(v.Synchronous, want) || p.Running != len(want) {
		k.Errorf("%d run: %v, want %v", p.Running, v.Synchronous, want)
	}
}

// testSynchronous: a synchronous deposit is claimed at once and apart from the others,
// beside the running ones of its user, and its place comes back when it is reported, held or
// freed.
func testSynchronous(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	k.pool(1)
	names := k.Deposits("ana1 ana2 ana3 ana4 ana5 ana6")
	for range fair.DefaultConcurrency {
		k.Grab()
	}
	begin := func(k *Kit) eventstore.Result[domain.Batch] {
		t.Helper()
		res, err := k.atOnce("ana")
		if err != nil || !res.State.Runs() || res.State.Waits() || *res.State.Ticket != (domain.Ticket{Queue: fair.QueueMetadata, User: "ana", Synchronous: true}) {
			t.Fatalf("%+v (%v)", res.State.Ticket, err)
		}
		k.runs(res.State.ID)
		_, err = other.atOnce("ben")
		other.WantRefused(err, domain.CodePoolFull)
		c, at, err := other.Store.NextBatch(t.Context(), eventstore.Synchronous, nil)
		if err != nil || at.State.ID != res.State.ID {
			t.Fatalf("%+v (%v)", at.State, err)
		}
		return eventstore.Result[domain.Batch]{Loaded: at, Claim: c}
	}
	first := begin(k)
	k.grabsNothing("all of ana's may run already, without the synchronous one")
	if all := must[[]string](k)(k.Store.Rings.RunningIn(t.Context(), fair.QueueMetadata)); !slices.Contains(all, string(first.State.ID)) || len(all) != fair.DefaultConcurrency+1 {
		t.Errorf("running %v", all)
	}
	other.EndGrabbed(first)
	k.runs()
	k.grabsNothing("the end of a synchronous one frees no place of ana")

	freed := begin(other)
	k.DoBatch(freed.State.ID, domain.FreeBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeFreed, Message: "stuck"}}, Operator())
	other.runs()
	other.EndGrabbed(freed)
	other.runs()

	held := begin(k)
	k.Hold(domain.HoldCollection, Profile, "ana")
	other.DoBatch(held.State.ID, domain.HoldBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeCollectionHeld, Message: "held"}}, Under(held.Claim, false))
	k.runs()
	k.Hold(domain.HoldCollection, Profile, "")
	if b := k.DoBatch(held.State.ID, domain.ReleaseBatch{}, Operator()).State; !b.Waits() || b.Ticket.Synchronous {
		t.Errorf("released: %+v", b.Ticket)
	}
	names[held.State.ID] = "released"
	other.runs()
	k.SetQueue(domain.SettingUserLimit, domain.UserLimitName(fair.QueueMetadata, "ana"), domain.SettingValue{UserLimit: &domain.UserLimit{Concurrency: new(9)}})
	if got := k.grabbed(names, 2); got != "ana6 released" {
		t.Errorf("grabbed %s", got)
	}
}

// testSynchronousRefused: who is not served is refused, with what is set at this moment, also
// when another process has set it.
func testSynchronousRefused(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	refused := func(code domain.Code, set domain.DepositQueue) {
		t.Helper()
		other.SetQueue(domain.SettingDepositQueue, fair.QueueMetadata, domain.SettingValue{DepositQueue: &set})
		k.WantRefused(k.Handler.Admits(t.Context(), "", "ana"), code)
		_, err := k.atOnce("ana")
		k.WantRefused(err, code)
		k.runs()
	}
	refused(domain.CodePoolFull, domain.DepositQueue{Synchronous: new(0)})
	refused(domain.CodeNotServed, domain.DepositQueue{Suspended: true})
	refused(domain.CodeNotServed, domain.DepositQueue{Prohibited: []string{"ana"}})
	refused(domain.CodeNotServed, domain.DepositQueue{Concurrency: new(0)})
	other.SetQueue(domain.SettingDepositQueue, fair.QueueMetadata, domain.SettingValue{DepositQueue: &domain.DepositQueue{Allocation: new(0)}})
	other.Hold(domain.HoldQueue, domain.QueueIngest, "ana")
	_, err := k.atOnce("ana")
	k.WantRefused(err, domain.CodeNotServed)
	other.Hold(domain.HoldQueue, domain.QueueIngest, "")
	res, err := k.atOnce("ana")
	if err != nil {
		t.Fatalf("without allocation: %v", err)
	}
	k.runs(res.State.ID)
}

// testSynchronousOfMany: processes that share a pool take no more than may run, and exactly
// these, also when many come at once, who all write the same node.
func testSynchronousOfMany(t *testing.T, env Env) {
	kits := []*Kit{NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))}
	const most = 16
	kits[0].pool(most)
	var mu sync.Mutex
	var taken []domain.BatchID
	var all sync.WaitGroup
	for _, k := range kits {
		for range 6 {
			all.Go(func() {
				res, err := k.atOnce("ana")
				var refused *domain.Refused
				switch {
				case err == nil:
					mu.Lock()
					taken = append(taken, res.State.ID)
					mu.Unlock()
				case !errors.As(err, &refused) || refused.Code != domain.CodePoolFull:
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if slices.Sort(taken); len(taken) != most {
		t.Errorf("%d are taken", len(taken))
	}
	kits[1].runs(taken...)
}

// testSynchronousClaimLost: when the session of its worker ends, a synchronous deposit is
// claimed again, keeps its place until its end, and has one then no more.
func testSynchronousClaimLost(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	res := must[eventstore.Result[domain.Batch]](k)(k.atOnce("ana"))
	if _, _, err := k.Store.NextBatch(t.Context(), eventstore.Synchronous, nil); err != nil {
		t.Fatal(err)
	}
	env.Expire(t, k.Store)
	other.runs(res.State.ID)
	c, at, err := other.Store.NextBatch(t.Context(), eventstore.Synchronous, nil)
	if err != nil || at.State.ID != res.State.ID {
		t.Fatalf("%+v (%v)", at.State, err)
	}
	other.EndGrabbed(eventstore.Result[domain.Batch]{Loaded: at, Claim: c})
	other.runs()
}
