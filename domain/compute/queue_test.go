package compute_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// rules returns who is next as the rules are written, without an index.
func rules(waiting []compute.Waiting, datasets []string, cached map[entry.Group]bool, limit int) (take int64, passed []int64, ok bool) {
	var mine []compute.Waiting
	for _, w := range waiting {
		if len(datasets) == 0 || slices.Contains(datasets, w.Dataset) {
			mine = append(mine, w)
		}
	}
	slices.SortFunc(mine, func(a, b compute.Waiting) int {
		if a.Priority != b.Priority {
			return int(b.Priority) - int(a.Priority) // the higher number first
		}
		return int(a.Sequence - b.Sequence)
	})
	if len(mine) == 0 {
		return 0, nil, false
	}
	for i, w := range mine {
		same := w.Priority == mine[0].Priority
		older := mine[:i]
		free := !slices.ContainsFunc(older, func(o compute.Waiting) bool { return o.Passed >= limit })
		if same && i < 16 && free && cached[w.Group] {
			for _, o := range older {
				passed = append(passed, o.Sequence)
			}
			return w.Sequence, passed, true
		}
	}
	return mine[0].Sequence, nil, true
}

func TestQueueIsThatOfTheModel(t *testing.T) {
	t.Parallel()
	datasets := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		var q compute.Queue
		waiting := map[int64]compute.Waiting{}
		passes := map[int64]int{}
		next, limit := int64(0), rapid.IntRange(0, 3).Draw(t, "limit")
		var gone []compute.Waiting
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2: // a new one
				next++
				w := compute.Waiting{Name: entry.Name{Priority: entry.Priority(rapid.SampledFrom([]int{5, 100, 999}).Draw(t, "priority")), Sequence: next,
					Group: entry.Group{Dataset: rapid.SampledFrom(datasets).Draw(t, "dataset"), Group: rapid.SampledFrom([]string{"", "g"}).Draw(t, "group")}}}
				waiting[next] = w
				q.Put(w)
			case 3: // one comes back, in its old place
				if len(gone) > 0 {
					w := gone[rapid.IntRange(0, len(gone)-1).Draw(t, "back")]
					w.Passed = passes[w.Sequence]
					waiting[w.Sequence] = w
					q.Put(w)
				}
			default:
				mine := rapid.SliceOfNDistinct(rapid.SampledFrom(datasets), 0, 2, rapid.ID[string]).Draw(t, "datasets")
				cached := map[entry.Group]bool{}
				for _, d := range datasets {
					cached[entry.Group{Dataset: d, Group: "g"}] = rapid.Bool().Draw(t, "cached")
				}
				var all []compute.Waiting
				for _, w := range waiting {
					all = append(all, w)
				}
				take, passed, ok := rules(all, mine, cached, limit)
				got, gotOK := q.Choose(compute.Wants{Datasets: mine, Cached: func(g entry.Group) bool { return cached[g] }, PassLimit: limit})
				var gotPassed []int64
				for _, w := range got.Passed {
					gotPassed = append(gotPassed, w.Sequence)
				}
				if ok != gotOK || take != got.Take.Sequence || !slices.Equal(passed, gotPassed) {
					t.Fatalf("%d passing %v, %t; want %d passing %v, %t", got.Take.Sequence, gotPassed, gotOK, take, passed, ok)
				}
				if !ok {
					continue
				}
				for _, w := range got.Passed {
					w.Passed++
					if passes[w.Sequence]++; passes[w.Sequence] > limit {
						t.Fatalf("%d was passed over %d times, the limit is %d", w.Sequence, passes[w.Sequence], limit)
					}
					waiting[w.Sequence] = w
					q.Put(w)
				}
				gone = append(gone, got.Take)
				delete(waiting, take)
				q.Remove(take)
			}
			if q.Len() != len(waiting) {
				t.Fatalf("%d wait, want %d", q.Len(), len(waiting))
			}
		}
	})
}

// A choice takes as long with 100,000 entries of 1,000 datasets as with few.
func BenchmarkChoose(b *testing.B) {
	for _, n := range []int64{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var q compute.Queue
			for i := range n {
				q.Put(compute.Waiting{Name: entry.Name{Priority: 100, Sequence: i + 1, Group: entry.Group{Dataset: fmt.Sprint("d", i%1000)}}})
			}
			for next := n + 1; b.Loop(); next++ {
				c, _ := q.Choose(compute.Wants{Cached: func(g entry.Group) bool { return g.Dataset == "d7" }, PassLimit: 1})
				q.Remove(c.Take.Sequence)
				c.Take.Sequence = next
				q.Put(c.Take)
			}
		})
	}
}
