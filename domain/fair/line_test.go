package fair_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/fair"
)

// world is a line and a plain list of what waits in it.
type world struct {
	line    fair.Line
	waiting map[string]fair.Item
	served  map[string]map[int]map[string]bool // submitter → rank → who was served since it waits
	number  int
}

var submitters = []string{"ana", "ben", "cleo", ""}

func (w *world) put(t *rapid.T) {
	w.number++
	i := fair.Item{ID: fmt.Sprintf("j%04d", rapid.IntRange(0, 40).Draw(t, "id")), Rank: rapid.IntRange(4, 6).Draw(t, "rank"),
		Submitter: rapid.SampledFrom(submitters).Draw(t, "submitter")}
	if was, there := w.waiting[i.ID]; there {
		i.Submitter = was.Submitter // that of an item never changes
	}
	if w.line.Put(i); w.waiting[i.ID].Rank != i.Rank {
		w.waiting[i.ID] = i
	}
}

func (w *world) remove(t *rapid.T) {
	id := fmt.Sprintf("j%04d", rapid.IntRange(0, 40).Draw(t, "id"))
	w.line.Remove(id)
	delete(w.waiting, id)
}

// waits reports whether a submitter has work in a rank.
func (w *world) waits(submitter string, rank int) bool {
	for _, i := range w.waiting {
		if i.Submitter == submitter && i.Rank == rank {
			return true
		}
	}
	return false
}

// took checks a turn of a submitter in a rank, and notes it.
func (w *world) took(t *rapid.T, submitter string, rank int, barred string) {
	for _, other := range submitters {
		of := w.served[other]
		if of == nil {
			of = map[int]map[string]bool{}
			w.served[other] = of
		}
		if other == submitter || other == barred || !w.waits(other, rank) {
			delete(of, rank) // it does not wait
			continue
		}
		if of[rank] == nil {
			of[rank] = map[string]bool{}
		}
		if of[rank][submitter] {
			t.Fatalf("%q is served twice in rank %d while %q waits", submitter, rank, other)
		}
		of[rank][submitter] = true
	}
}

// note forgets turns of before a submitter waited.
func (w *world) note() {
	for submitter, of := range w.served {
		for rank := range of {
			if !w.waits(submitter, rank) {
				delete(of, rank)
			}
		}
	}
}

func (w *world) next(t *rapid.T) {
	barred := rapid.SampledFrom([]string{"none", "none", "ana", "ben"}).Draw(t, "barred")
	got, ok := w.line.Next(func(s string) bool { return s != barred })
	var first *fair.Item
	for _, i := range w.waiting {
		if i.Submitter != barred && (first == nil || i.Rank < first.Rank) {
			first = &i
		}
	}
	if ok != (first != nil) {
		t.Fatalf("served %v, and %v waits", got, first)
	}
	if !ok {
		return
	}
	if got.Rank != first.Rank || w.waiting[got.ID] != got {
		t.Fatalf("served %+v, and %+v waits", got, *first)
	}
	for _, i := range w.waiting {
		if i.Submitter == got.Submitter && i.Before(got) {
			t.Fatalf("served %+v before %+v", got, i)
		}
	}
	delete(w.waiting, got.ID)
	w.took(t, got.Submitter, got.Rank, barred)
}

// serve hands an item over that does not wait.
func (w *world) serve(t *rapid.T) {
	i := fair.Item{ID: "j0020", Rank: rapid.IntRange(4, 6).Draw(t, "rank"), Submitter: rapid.SampledFrom(submitters).Draw(t, "submitter")}
	if _, there := w.waiting[i.ID]; there || !w.line.Serve(i) {
		return
	}
	for _, o := range w.waiting {
		if o.Rank < i.Rank || o.Submitter == i.Submitter && o.Before(i) {
			t.Fatalf("handed %+v over before %+v", i, o)
		}
	}
	w.took(t, i.Submitter, i.Rank, "none")
}

// The lower rank is served first, always; inside a submitter the order is kept; and no
// submitter is served twice in a rank while another one waits there.
// Shows: P11
func TestTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := world{waiting: map[string]fair.Item{}, served: map[string]map[int]map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"put": w.put, "remove": w.remove, "next": w.next, "serve": w.serve,
			"": func(t *rapid.T) {
				w.note()
				if w.line.Len() != len(w.waiting) {
					t.Fatalf("%d wait, not %d", w.line.Len(), len(w.waiting))
				}
			},
		})
	})
}

// Of three submitters with a thousand, ten and three items each is served as often as
// the others, so long as it has any.
func TestEqualShares(t *testing.T) {
	t.Parallel()
	var l fair.Line
	n := 0
	for _, c := range []struct {
		submitter string
		items     int
	}{{"ana", 1000}, {"ben", 10}, {"cleo", 3}} {
		for range c.items {
			n++
			l.Put(fair.Item{ID: fmt.Sprintf("j%04d", n), Rank: 5, Submitter: c.submitter})
		}
	}
	var order []string
	for range 26 {
		i, _ := l.Next(nil)
		order = append(order, i.Submitter)
	}
	var want []string
	for range 3 {
		want = append(want, "ana", "ben", "cleo")
	}
	for range 7 {
		want = append(want, "ana", "ben")
	}
	if want = append(want, "ana", "ana", "ana"); !slices.Equal(order, want) {
		t.Errorf("served %v", order)
	}
}

// What was released for a time comes behind the rest of its submitter, not behind that
// of others.
func TestBehind(t *testing.T) {
	t.Parallel()
	var l fair.Line
	for _, i := range []fair.Item{{ID: "a1", Submitter: "ana", Behind: "b2"}, {ID: "a2", Submitter: "ana"}, {ID: "b1", Submitter: "ben"}, {ID: "b2", Submitter: "ben"}} {
		l.Put(i)
	}
	var got []string
	for i, ok := l.Next(nil); ok; i, ok = l.Next(nil) {
		got = append(got, i.ID)
	}
	if want := []string{"a2", "b1", "a1", "b2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Work that may not be served is passed over, and keeps its turn.
func TestPassedOver(t *testing.T) {
	t.Parallel()
	var l fair.Line
	l.Put(fair.Item{ID: "a", Submitter: "ana"})
	l.Put(fair.Item{ID: "b", Submitter: "ben"})
	noAna := func(s string) bool { return s != "ana" }
	if i, ok := l.Next(noAna); !ok || i.ID != "b" {
		t.Errorf("served %+v", i)
	}
	if i, ok := l.Next(noAna); ok {
		t.Errorf("served %+v", i)
	}
	if i, ok := l.Next(nil); !ok || i.ID != "a" || l.Len() != 0 {
		t.Errorf("served %+v", i)
	}
}

// As many holders as workers are kept, that keep what they have, leave a worker for another,
// whatever comes first.
// Shows: P11
func TestShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := fair.Share{Workers: rapid.IntRange(4, 100).Draw(t, "workers")}
		holds, busy := map[int]int{}, 0
		for range 1000 {
			if who := rapid.IntRange(1, s.Reserve()).Draw(t, "who"); s.May(holds[who], busy) {
				holds[who]++
				busy++
			}
			if !s.May(0, busy) {
				t.Fatalf("%v hold all %d workers", holds, s.Workers)
			}
			if busy == s.Workers-1 {
				break
			}
		}
	})
	for workers, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 1, 4: 2, 6: 3, 8: 4, 12: 4, 20: 5} {
		if got := (fair.Share{Workers: workers}).Reserve(); got != want {
			t.Errorf("of %d workers %d are kept, want %d", workers, got, want)
		}
	}
	if (fair.Share{Workers: 1}).May(1, 1) || !(fair.Share{Workers: 1}).May(0, 0) || (fair.Share{Workers: 4}).May(1, 2) {
		t.Error("it may")
	}
}
