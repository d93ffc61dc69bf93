package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

var ringTests = tests{
	"ring in turn":             testRingInTurn,
	"ring, grab claims":        testGrabClaims,
	"ring, claim kept":         testGrabbedIsClaimedAgain,
	"ring, concurrency":        testRingConcurrency,
	"ring, place freed":        testRingFreed,
	"ring, jobs rest":          testRingJobsRest,
	"ring, job ends":           testRingJobEnds,
	"ring of many":             testRingOfMany,
	"ring, hold and release":   testRingRelease,
	"ring, parked":             testRingParked,
	"ring viewed":              testRingView,
	"ring, waiting not worked": testWaitingIsNotWorked,
	"ring paused":              testRingPaused,
	"synchronous":              testSynchronous,
	"synchronous, refused":     testSynchronousRefused,
	"synchronous of many":      testSynchronousOfMany,
	"synchronous, claim lost":  testSynchronousClaimLost,
}

// NewRingKit returns a kit whose deposits wait in deposit queues.
func NewRingKit(t testing.TB, s any) *Kit {
	k := NewKit(t, s)
	k.Handler.Rings, k.Handler.Queries = k.Store.Rings, k.Store.Queries
	return k
}

// Deposits submits batches of users, named like "ana1 ana2 ben1", and returns the names of
// the batches.
func (k *Kit) Deposits(all string) map[domain.BatchID]string {
	k.Helper()
	names := map[domain.BatchID]string{}
	for _, name := range strings.Fields(all) {
		id := must[domain.BatchID](k)(k.Store.ReserveBatchID(k.Context()))
		k.DoBatch(id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: Profile, Submitter: strings.TrimRight(name, "0123456789"), Type: domain.TypeFile,
			PayloadURL: "https://example.org/" + name, SubmissionMode: "add"}}, Operator())
		names[id] = name
	}
	return names
}

// Grab grabs the next batch.
func (k *Kit) Grab() eventstore.Result[domain.Batch] {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	return must[eventstore.Result[domain.Batch]](k)(k.Handler.Grab(ctx, fair.QueueMetadata, "default", Operator()))
}

// grabbed grabs n batches and returns their names.
func (k *Kit) grabbed(names map[domain.BatchID]string, n int) string {
	k.Helper()
	all := make([]string, n)
	for i := range all {
		all[i] = names[k.Grab().State.ID]
	}
	return strings.Join(all, " ")
}

// grabsNothing fails the test if something can be grabbed within a moment.
func (k *Kit) grabsNothing(why string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), 1500*time.Millisecond)
	defer cancel()
	if res, err := k.Handler.Grab(ctx, fair.QueueMetadata, "default", Operator()); !errors.Is(err, context.DeadlineExceeded) {
		k.Errorf("%s: grabbed %s (%v)", why, res.State.ID, err)
	}
}

// EndGrabbed brings a grabbed batch to its report.
func (k *Kit) EndGrabbed(res eventstore.Result[domain.Batch]) {
	k.Helper()
	id, bad := res.State.ID, &domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "it is bad"}
	k.DoBatch(id, domain.StartBatch{Problem: bad}, Under(res.Claim, false))
	k.DoBatch(id, domain.BeginReport{}, Operator())
	k.DoBatch(id, domain.FinishReport{}, Operator())
}

// testRingInTurn: users are served in turn, each in the order of their batches, and the
// events tell the turns.
func testRingInTurn(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	names := k.Deposits("mal1 mal2 mal3 mal4 ana1 ben1 ana2")
	if got := k.grabbed(names, 3); got != "mal1 ana1 ben1" {
		t.Errorf("grabbed %s", got)
	}
	for id, name := range k.Deposits("cleo1") {
		names[id] = name
	}
	if got := k.grabbed(names, 5); got != "mal2 ana2 mal3 cleo1 mal4" {
		t.Errorf("then %s", got)
	}
	var turns []int64
	for id := range names {
		for _, e := range k.Events(id.Aggregate()) {
			if g, ok := e.Data.(*domain.BatchGrabbed); ok {
				turns = append(turns, g.Ring.Turn)
				if g.Ticket.Turn != g.Ring.Turn || g.Rule != string(fair.RuleRoundRobin) || g.Processor != "default" || g.Ticket.User != strings.TrimRight(names[id], "0123456789") {
					t.Errorf("%s: %+v", id, g)
				}
			}
		}
	}
	if slices.Sort(turns); !slices.Equal(turns, []int64{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("turns %v", turns)
	}
}

// testGrabClaims: a grab is the first claim: only the grabber may work.
func testGrabClaims(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	k.Deposits("ana1")
	res := k.Grab()
	if res.Claim == nil || !res.State.Runs() || res.State.State != domain.BatchPending {
		t.Fatalf("%+v", res)
	}
	other := NewRingKit(t, env.Open(t))
	if _, _, err := other.Store.ClaimBatch(t.Context(), res.State.ID); !errors.Is(err, eventstore.ErrLocked) {
		t.Errorf("another claims it: %v", err)
	}
	k.DoBatch(res.State.ID, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: domain.NewJobID(7)}}, Under(res.Claim, true))
	if err := k.Store.Release(t.Context(), res.Claim, 0); err != nil {
		t.Error(err)
	}
}

// testGrabbedIsClaimedAgain: when the grabber's session ends, the batch is claimed again
// outside the ring, once, and still counts as running.
func testGrabbedIsClaimedAgain(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	k.Deposits("ana1")
	res := k.Grab()
	env.Expire(t, k.Store)
	c, at, err := other.Store.NextBatch(t.Context(), domain.BatchPending, nil)
	if err != nil || at.State.ID != res.State.ID || !at.State.Runs() {
		t.Fatalf("%+v (%v)", at.State, err)
	}
	other.EndGrabbed(eventstore.Result[domain.Batch]{Loaded: at, Claim: c})
	if b := other.Batch(res.State.ID).State; b.Ticket != nil || b.State != domain.BatchFailed {
		t.Errorf("%+v", b)
	}
}

// testRingConcurrency: no more batches of a user run than may, and the report of one lets
// the next one run, also in another process.
func testRingConcurrency(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	names := k.Deposits("ana1 ana2 ana3 ana4 ana5 ana6 ana7")
	var running []eventstore.Result[domain.Batch]
	for range fair.DefaultConcurrency {
		running = append(running, k.Grab())
	}
	k.grabsNothing("all of ana's may run already")
	other.grabsNothing("all of ana's may run already, elsewhere")
	k.EndGrabbed(running[1])
	if got := other.grabbed(names, 1); got != "ana6" {
		t.Errorf("grabbed %s", got)
	}
	for id, name := range other.Deposits("ben1") {
		names[id] = name
	}
	if got := k.grabbed(names, 1); got != "ben1" {
		t.Errorf("then %s", got)
	}
}

// testRingOfMany: processes that share a ring grab each batch once, and in turn.
func testRingOfMany(t *testing.T, env Env) {
	var want strings.Builder
	for i := 1; i <= 8; i++ {
		fmt.Fprintf(&want, "mal%d ", i)
	}
	kits := []*Kit{NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))}
	names := kits[0].Deposits(want.String() + "ana1 ana2")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	byTurn := map[int64]string{}
	var all sync.WaitGroup
	for _, k := range kits {
		all.Go(func() {
			for {
				res, err := k.Handler.Grab(ctx, fair.QueueMetadata, "default", Operator())
				if err != nil {
					return // all are grabbed, or the time is over
				}
				mu.Lock()
				byTurn[res.State.Ticket.Turn] += names[res.State.ID]
				done := len(byTurn) == 10
				mu.Unlock()
				k.EndGrabbed(res)
				if done {
					cancel()
				}
			}
		})
	}
	all.Wait()
	got := make([]string, 10)
	for i := range got {
		got[i] = byTurn[int64(i+1)]
	}
	if first := strings.Join(got[:4], " "); first != "mal1 ana1 mal2 ana2" {
		t.Errorf("the first turns: %s; all %v", first, got)
	}
	if slices.Sort(got); slices.Contains(got, "") || len(slices.Compact(got)) != 10 {
		t.Errorf("by turn: %v", byTurn)
	}
}

// testRingRelease: a held batch runs no longer, and returns to the front of its user.
func testRingRelease(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	names := k.Deposits("ana1 ana2 ana3")
	if got := other.grabbed(names, 1); got != "ana1" { // the queue is known there
		t.Fatal(got)
	}
	res := k.Grab()
	k.Hold(domain.HoldCollection, Profile, "ana")
	k.DoBatch(res.State.ID, domain.HoldBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeCollectionHeld, Message: "held"}}, Under(res.Claim, false))
	if b := k.Batch(res.State.ID).State; b.Ticket != nil || b.State != domain.BatchHeld {
		t.Fatalf("%+v", b)
	}
	k.Hold(domain.HoldCollection, Profile, "")
	k.DoBatch(res.State.ID, domain.ReleaseBatch{}, Operator())
	if got := other.grabbed(names, 2); got != "ana2 ana3" {
		t.Errorf("grabbed %s", got)
	}
}

// testRingParked: a parked batch is not grabbed until it is released; the last batch of a
// user takes the user out of the ring.
func testRingParked(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	names := k.Deposits("ana1 ben1 ben2 cleo1")
	if got := other.grabbed(names, 1); got != "ana1" {
		t.Fatal(got)
	}
	ids := map[string]domain.BatchID{}
	for id, name := range names {
		ids[name] = id
	}
	why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: "parked by ana"}
	for _, name := range []string{"ben1", "ben2"} {
		if res, err := k.Handler.Park(t.Context(), ids[name], why, Operator()); err != nil || res.State.State != domain.BatchHeld || res.State.Ticket != nil {
			t.Fatalf("%+v (%v)", res.State, err)
		}
	}
	if got := other.grabbed(names, 1); got != "cleo1" {
		t.Errorf("grabbed %s", got)
	}
	other.grabsNothing("all are parked")
	var refused *domain.Refused
	if _, err := k.Handler.Park(t.Context(), ids["ana1"], why, Operator()); !errors.As(err, &refused) || refused.Code != domain.CodeNotWaiting {
		t.Errorf("parks one that runs: %v", err)
	}
	if _, err := k.Handler.Batch(t.Context(), ids["ben1"], domain.ReleaseBatch{}, Operator()); !errors.As(err, &refused) || refused.Code != domain.CodeParked {
		t.Errorf("releases a parked one: %v", err)
	}
	unpark := domain.UnparkBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: "requested", Message: "over"}}
	k.Deposits("ben3")
	k.DoBatch(ids["ben2"], unpark, Operator())
	k.DoBatch(ids["ben1"], unpark, Operator())
	if _, err := k.Handler.Batch(t.Context(), ids["ben1"], unpark, Operator()); !errors.As(err, &refused) || refused.Code != domain.CodeIllegal {
		t.Errorf("unparks what waits: %v", err)
	}
	if there, err := other.Store.Rings.Waiting(t.Context(), fair.QueueMetadata, "ben"); err != nil || len(there) != 3 || there[0] != string(ids["ben1"]) || there[1] != string(ids["ben2"]) {
		t.Errorf("of ben %v (%v)", there, err)
	}
	if got := other.grabbed(names, 2); got != "ben1 ben2" {
		t.Errorf("after the release %s", got)
	}
}

// testWaitingIsNotWorked: what waits in a deposit queue is claimed by a grab only.
func testWaitingIsNotWorked(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	for id := range k.Deposits("ana1") {
		if _, _, err := k.Store.ClaimBatch(t.Context(), id); !errors.Is(err, eventstore.ErrConflict) {
			t.Errorf("claimed: %v", err)
		}
		var refused *domain.Refused
		_, err := k.Handler.Batch(t.Context(), id, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: domain.NewJobID(7)}}, Operator())
		if !errors.As(err, &refused) || refused.Code != domain.CodeNotGrabbed {
			t.Errorf("listed: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, at, err := k.Store.NextBatch(ctx, domain.BatchPending, nil); err == nil {
		t.Errorf("%s is offered", at.State.ID)
	}
}

// testRingPaused: a pause of the ingest queue stops grabs.
func testRingPaused(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	names := k.Deposits("ana1")
	k.Hold(domain.HoldQueue, domain.QueueIngest, "ana")
	k.grabsNothing("paused")
	k.Hold(domain.HoldQueue, domain.QueueIngest, "")
	if got := k.grabbed(names, 1); got != "ana1" {
		t.Errorf("grabbed %s", got)
	}
}
