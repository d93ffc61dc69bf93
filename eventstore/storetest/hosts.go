package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/eventstore"
)

var hostTests = tests{
	"permits":            testPermits,
	"permits in a crowd": testPermitsInACrowd,
	"permits lost":       testPermitsLost,
}

var (
	theHost = eventstore.PermitOf{Name: "depositor.example.org:443"}
	ana     = eventstore.PermitOf{Name: "ana", Submitter: true}
)

// permit takes a permit for a host, and waits for one that is being returned.
func (k *Kit) permit(of eventstore.PermitOf, most int) *eventstore.Permit {
	k.Helper()
	for {
		p, err := k.Store.TakePermit(k.Context(), of, most)
		if err == nil {
			return p
		}
		if !errors.Is(err, eventstore.ErrLocked) || k.Context().Err() != nil {
			k.Fatal(err)
		}
	}
}

// testPermits: two processes together have as many permits for a host as there are, and
// one that was returned is for either.
// Shows: P11
func testPermits(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	var held []*eventstore.Permit
	for n := range 3 {
		held = append(held, []*Kit{k, other}[n%2].permit(theHost, 3))
	}
	numbers := []int{held[0].Number, held[1].Number, held[2].Number}
	slices.Sort(numbers)
	if !slices.Equal(numbers, []int{0, 1, 2}) || held[0].Of != theHost || held[0].Worker == held[1].Worker {
		t.Errorf("held are %v: %+v", numbers, held)
	}
	for _, by := range []*Kit{k, other} {
		_, err := by.Store.TakePermit(t.Context(), theHost, 3)
		by.WantErr(err, eventstore.ErrLocked)
	}
	k.permit(ana, 2)
	for named, want := range map[int][]eventstore.PermitsHeld{2: {{Of: theHost, Held: 3}, {Of: ana, Held: 1}}, 1: {{Of: theHost, Held: 3}, {Of: eventstore.PermitOf{Submitter: true}, Held: 1}}} {
		if got, err := other.Store.Permits(t.Context(), named); err != nil || !slices.Equal(got, want) {
			t.Errorf("held are %+v (%v), want %+v", got, err, want)
		}
	}
	// A submitter and a host of one name have permits of their own.
	k.permit(eventstore.PermitOf{Name: ana.Name}, 1)
	other.permit(ana, 2)
	_, err := k.Store.TakePermit(t.Context(), ana, 2)
	k.WantErr(err, eventstore.ErrLocked)
	other.Store.ReturnPermit(held[1])
	if p := k.permit(theHost, 3); p.Number != held[1].Number {
		t.Errorf("the permit is number %d, and %d was returned", p.Number, held[1].Number)
	}
}

// testPermitsInACrowd: of many that take permits at the same moment as many have one as
// there are.
func testPermitsInACrowd(t *testing.T, env Env) {
	kits := []*Kit{NewKit(t, env.Open(t)), NewKit(t, env.Open(t))}
	const most = 5
	var mu sync.Mutex
	var g sync.WaitGroup
	held := map[string]int{}
	for n := range 10 * most {
		g.Go(func() {
			k := kits[n%2]
			p, err := k.Store.TakePermit(k.Context(), theHost, most)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				held[fmt.Sprint(p.Number)]++
			case !errors.Is(err, eventstore.ErrLocked):
				t.Error(err)
			}
		})
	}
	g.Wait()
	for n := range most {
		if held[fmt.Sprint(n)] != 1 || len(held) != most {
			t.Errorf("held are %v", held)
		}
	}
}

// testPermitsLost: the permits of a session end with it.
// Shows: P11
func testPermitsLost(t *testing.T, env Env) {
	s := env.Open(t)
	k, other := NewKit(t, s), NewKit(t, env.Open(t))
	lost := k.permit(theHost, 1)
	_, err := other.Store.TakePermit(t.Context(), theHost, 1)
	other.WantErr(err, eventstore.ErrLocked)
	env.Expire(t, s)
	held := other.permit(theHost, 1)
	<-lost.Lost
	k.Store.ReturnPermit(lost)
	_, err = k.Store.TakePermit(t.Context(), theHost, 1)
	k.WantErr(err, eventstore.ErrLocked)
	other.Store.ReturnPermit(held)
	k.permit(theHost, 1)
}
