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
	var taken []*eventstore.Permit
	for n := range 3 {
		taken = append(taken, []*Kit{k, other}[n%2].permit(theHost, 3))
	}
	numbers := []int{taken[0].Number, taken[1].Number, taken[2].Number}
	slices.Sort(numbers)
	if !slices.Equal(numbers, []int{0, 1, 2}) || taken[0].Of != theHost || taken[0].Worker == taken[1].Worker {
		t.Errorf("taken are %v: %+v", numbers, taken)
	}
	for _, by := range []*Kit{k, other} {
		_, err := by.Store.TakePermit(t.Context(), theHost, 3)
		by.WantErr(err, eventstore.ErrLocked)
	}
	k.permit(ana, 2)
	for named, want := range map[int][]eventstore.PermitsTaken{2: {{Of: theHost, Taken: 3}, {Of: ana, Taken: 1}}, 1: {{Of: theHost, Taken: 3}, {Of: eventstore.PermitOf{Submitter: true}, Taken: 1}}} {
		if got, err := other.Store.Permits(t.Context(), named); err != nil || !slices.Equal(got, want) {
			t.Errorf("taken are %+v (%v), want %+v", got, err, want)
		}
	}
	// A submitter and a host of one name have permits of their own.
	k.permit(eventstore.PermitOf{Name: ana.Name}, 1)
	other.permit(ana, 2)
	_, err := k.Store.TakePermit(t.Context(), ana, 2)
	k.WantErr(err, eventstore.ErrLocked)
	other.Store.ReturnPermit(taken[1])
	if p := k.permit(theHost, 3); p.Number != taken[1].Number {
		t.Errorf("the permit is number %d, and %d was returned", p.Number, taken[1].Number)
	}
}

// testPermitsInACrowd: of many that take permits at the same moment as many have one as
// there are.
func testPermitsInACrowd(t *testing.T, env Env) {
	kits := []*Kit{NewKit(t, env.Open(t)), NewKit(t, env.Open(t))}
	const most = 5
	var mu sync.Mutex
	var g sync.WaitGroup
	taken := map[string]int{}
	for n := range 10 * most {
		g.Go(func() {
			k := kits[n%2]
			p, err := k.Store.TakePermit(k.Context(), theHost, most)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				taken[fmt.Sprint(p.Number)]++
			case !errors.Is(err, eventstore.ErrLocked):
				t.Error(err)
			}
		})
	}
	g.Wait()
	for n := range most {
		if taken[fmt.Sprint(n)] != 1 || len(taken) != most {
			t.Errorf("taken are %v", taken)
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
	taken := other.permit(theHost, 1)
	<-lost.Lost
	k.Store.ReturnPermit(lost)
	_, err = k.Store.TakePermit(t.Context(), theHost, 1)
	k.WantErr(err, eventstore.ErrLocked)
	other.Store.ReturnPermit(taken)
	k.permit(theHost, 1)
}
