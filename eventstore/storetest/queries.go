package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

var queryTests = tests{
	"queries in turn":       testQueriesInTurn,
	"query, claimed again":  testQueryClaimedAgain,
	"query, claims counted": testQueryClaimsCounted,
	"query, failed by hand": testQueryFailedByHand,
	"query, parked":         testQueryParked,
	"query, removed":        testQueryRemoved,
	"queries, another ring": testQueriesHaveTheirRing,
}

// Ask makes queries of users, named like "ana1 ana2 ben1", and returns their names.
func (k *Kit) Ask(all string) map[domain.QueryID]string {
	k.Helper()
	names := map[domain.QueryID]string{}
	for _, name := range strings.Fields(all) {
		id := must[domain.QueryID](k)(k.Store.ReserveQueryID(k.Context()))
		request := asked.Request{Submitter: strings.TrimRight(name, "0123456789"), ListURL: "store:" + name, Size: 9, Lines: 2}
		must[eventstore.Result[lookup.Query]](k)(k.Handler.ReceiveQuery(k.Context(), id, lookup.Receive{Request: request}, Operator()))
		names[id] = name
	}
	return names
}

// GrabQuery grabs the next query.
func (k *Kit) GrabQuery() eventstore.Result[lookup.Query] {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	return must[eventstore.Result[lookup.Query]](k)(k.Handler.GrabQuery(ctx, "default", Operator()))
}

// finish answers a query.
func (k *Kit) finish(id domain.QueryID, c *eventstore.Claim) error {
	_, err := k.Handler.Query(k.Context(), id, lookup.Finish{Answer: asked.Answer{Found: 1, NotFound: 1, URL: "store:answers"}}, Under(c, false))
	return err
}

// AnswerQuery answers a query that was grabbed.
func (k *Kit) AnswerQuery(res eventstore.Result[lookup.Query]) {
	k.Helper()
	k.mustFinish(res)
}

func (k *Kit) mustFinish(res eventstore.Result[lookup.Query]) {
	k.Helper()
	if err := k.finish(res.State.ID, res.Claim); err != nil {
		k.Fatal(err)
	}
}

func (k *Kit) runningQueries() string {
	k.Helper()
	return fmt.Sprint(must[[]string](k)(k.Store.RunningIn(k.Context(), fair.QueueQuery)))
}

// testQueriesInTurn: users are served in turn; the state that is read is the fold of the
// events, and no query is grabbed twice.
func testQueriesInTurn(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	names := k.Ask("mal1 mal2 mal3 ana1 ben1")
	var order []string
	for range 5 {
		res := k.GrabQuery()
		order = append(order, names[res.State.ID])
		if got := k.runningQueries(); got != "["+string(res.State.ID)+"]" {
			t.Errorf("%s run", got)
		}
		k.mustFinish(res)
		at := must[eventstore.Loaded[lookup.Query]](k)(k.Store.LoadQuery(k.Context(), res.State.ID))
		folded := lookup.Query{}
		for _, e := range k.Events(res.State.ID.Aggregate()) {
			var err error
			if folded, err = lookup.Evolve(folded, e); err != nil {
				t.Fatal(err)
			}
		}
		if text(at.State) != text(folded) || at.State.State != asked.Answered || at.State.Answer == nil || at.State.Ticket != nil {
			t.Errorf("read %s\nfolded %s", text(at.State), text(folded))
		}
	}
	if got := strings.Join(order, " "); got != "mal1 ana1 ben1 mal2 mal3" {
		t.Errorf("grabbed %s", got)
	}
	if got := k.runningQueries(); got != "[]" {
		t.Errorf("%s run", got)
	}
	ctx, cancel := context.WithTimeout(k.Context(), 1500*time.Millisecond)
	defer cancel()
	if res, err := k.Handler.GrabQuery(ctx, "default", Operator()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("grabbed %s (%v)", res.State.ID, err)
	}
}

// testQueryClaimedAgain: a query whose worker has died runs on, is claimed by one other,
// and the dead worker writes nothing any more.
func testQueryClaimedAgain(t *testing.T, env Env) {
	first, second := env.Open(t), env.Open(t)
	k, other := NewRingKit(t, first), NewRingKit(t, second)
	k.Ask("ana1")
	res := k.GrabQuery()
	id := res.State.ID
	if _, _, err := other.Store.ClaimQuery(k.Context(), id); !errors.Is(err, eventstore.ErrLocked) {
		t.Errorf("a query that is being answered: %v", err)
	}
	env.Expire(t, first)
	if got := other.runningQueries(); got != "["+string(id)+"]" {
		t.Errorf("%s run", got)
	}
	claim, at, err := other.Store.ClaimQuery(k.Context(), id)
	if err != nil || at.State.State != asked.Grabbed {
		t.Fatalf("%+v, %v", at.State, err)
	}
	if err := k.finish(id, res.Claim); !errors.Is(err, eventstore.ErrFenced) {
		t.Errorf("the dead worker: %v", err)
	}
	if err := other.finish(id, claim); err != nil {
		t.Error(err)
	}
	if n := len(k.Events(id.Aggregate())); n != 3 {
		t.Errorf("%d events", n)
	}
	if _, _, err := other.Store.ClaimQuery(k.Context(), id); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("a query that was answered: %v", err)
	}
}

// testQueryClaimsCounted: the workers that die with a query are counted, from its grab on and
// since it was released last.
func testQueryClaimsCounted(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	k.Ask("ana1")
	res := k.GrabQuery()
	id := res.State.ID
	if res.Claim.Attempts != 1 {
		t.Errorf("a grab is claim number %d", res.Claim.Attempts)
	}
	env.Expire(t, k.Store)
	for _, want := range []int{2, 3, 1, 2} {
		k = NewRingKit(t, env.Open(t))
		c, _, err := k.Store.ClaimQuery(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if c.Attempts != want {
			t.Errorf("claim number %d, want %d", c.Attempts, want)
		}
		if want == 3 {
			k.release(c)
		} else {
			env.Expire(t, k.Store)
		}
	}
}

// testQueryFailedByHand: an operator ends a query that waits, is parked or runs; its user's
// place is free, and its worker writes nothing any more.
func testQueryFailedByHand(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	ids := map[string]domain.QueryID{}
	for id, name := range k.Ask("ana1 ana2 ana3 ana4") {
		ids[name] = id
	}
	why := domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "not needed"}
	runs := k.GrabQuery()
	must[eventstore.Result[lookup.Query]](k)(k.Handler.ParkQuery(t.Context(), ids["ana3"], why, Operator()))
	for _, name := range []string{"ana1", "ana2", "ana3"} {
		res := must[eventstore.Result[lookup.Query]](k)(k.Handler.FailQuery(t.Context(), ids[name], why, Operator()))
		if q := res.State; q.State != asked.Failed || q.Ticket != nil || q.Reason == nil || q.Reason.WhoActs != domain.ActsNone {
			t.Errorf("%s is %+v", name, q)
		}
		var refused *domain.Refused
		if _, err := k.Handler.FailQuery(t.Context(), ids[name], why, Operator()); !errors.As(err, &refused) {
			t.Errorf("%s failed again: %v", name, err)
		}
	}
	if err := k.finish(ids["ana1"], runs.Claim); err == nil {
		t.Error("a query that was failed is answered")
	}
	k.release(runs.Claim)
	if got := k.runningQueries(); got != "[]" {
		t.Errorf("%s run", got)
	}
	res := k.GrabQuery()
	if res.State.ID != ids["ana4"] {
		t.Errorf("grabbed %s", res.State.ID)
	}
	k.mustFinish(res)
}

// testQueryParked: a parked query is not grabbed, and comes back to its place.
func testQueryParked(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	names := k.Ask("ana1 ana2 ana3")
	first := domain.NewQueryID(1)
	for id, name := range names {
		if name == "ana1" {
			first = id
		}
	}
	why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: "night"}
	must[eventstore.Result[lookup.Query]](k)(k.Handler.ParkQuery(k.Context(), first, why, Operator()))
	var refused *domain.Refused
	if _, err := k.Handler.ParkQuery(k.Context(), first, why, Operator()); !errors.As(err, &refused) {
		t.Errorf("a parked query is parked: %v", err)
	}
	res := k.GrabQuery()
	if names[res.State.ID] != "ana2" {
		t.Errorf("grabbed %s", names[res.State.ID])
	}
	k.mustFinish(res)
	must[eventstore.Result[lookup.Query]](k)(k.Handler.UnparkQuery(k.Context(), first, &why, Operator()))
	for _, want := range []string{"ana1", "ana3"} {
		res := k.GrabQuery()
		if names[res.State.ID] != want {
			t.Errorf("grabbed %s, want %s", names[res.State.ID], want)
		}
		k.mustFinish(res)
	}
}

// testQueryRemoved: only a query that has ended is removed.
func testQueryRemoved(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	k.Ask("ana1")
	id := must[[]domain.QueryID](k)(k.Store.QueryIDs(k.Context()))[0]
	if err := k.Store.RemoveQuery(k.Context(), id); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("a waiting query: %v", err)
	}
	k.mustFinish(k.GrabQuery())
	for range 2 {
		if err := k.Store.RemoveQuery(k.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if _, err := k.Store.LoadQuery(k.Context(), id); !errors.Is(err, eventstore.ErrNotFound) {
		t.Error(err)
	}
	if ids := must[[]domain.QueryID](k)(k.Store.QueryIDs(k.Context())); len(ids) > 0 {
		t.Errorf("%v are left", ids)
	}
}

// testQueriesHaveTheirRing: the queues of batches and of queries do not share places.
func testQueriesHaveTheirRing(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	k.Deposits("ana1 ana2")
	names := k.Ask("ana1 ben1")
	batch, query := k.Grab(), k.GrabQuery()
	if batch.State.Submission.Submitter != "ana" || names[query.State.ID] != "ana1" {
		t.Errorf("grabbed %+v, %+v", batch.State, query.State)
	}
	if got := must[[]string](k)(k.Store.RunningIn(k.Context(), fair.QueueMetadata)); len(got) != 1 || got[0] != string(batch.State.ID) {
		t.Errorf("%v run", got)
	}
	v := must[eventstore.RingView](k)(k.Store.Rings.View(k.Context(), fair.QueueQuery))
	if got := v.Ring().Running("ana"); got != 1 || len(v.Users) != 2 {
		t.Errorf("of ana %d queries run, of %d users", got, len(v.Users))
	}
}
