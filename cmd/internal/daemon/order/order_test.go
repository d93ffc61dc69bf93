package order_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// world has the jobs of objects, and their object entries, in maps.
type world struct {
	jobs     map[domain.JobID]domain.Job
	left     []domain.JobID // entries whose job has ended or is gone
	reserved map[domain.JobID]int
	order    *order.Jobs
}

func newWorld() *world {
	w := &world{jobs: map[domain.JobID]domain.Job{}, reserved: map[domain.JobID]int{}}
	w.order = order.New(w, func(_ context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error) {
		j, there := w.jobs[id]
		if !there {
			return eventstore.Loaded[domain.Job]{}, eventstore.ErrNotFound
		}
		return eventstore.Loaded[domain.Job]{State: j}, nil
	}, func(_ context.Context, id domain.JobID) (int, error) { return w.reserved[id], nil })
	return w
}

// Earlier implements eventstore.Objects.
func (w *world) Earlier(_ context.Context, j domain.Job) ([]domain.JobID, error) {
	all := slices.DeleteFunc(slices.Clone(w.left), func(id domain.JobID) bool { return id >= j.ID })
	for id, o := range w.jobs {
		if id < j.ID && o.SameObject(j) && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, nil
}

// put sets the state and the keys of a job.
func (w *world) put(id domain.JobID, state domain.JobState, keys ...domain.ObjectKey) {
	w.jobs[id] = domain.Job{ID: id, State: state, Identifiers: domain.Identifiers{ObjectKeys: keys}}
}

// move moves a job on, and returns which jobs that wakes.
func (w *world) move(id domain.JobID, to domain.JobState) []domain.JobID {
	j := w.jobs[id]
	from := j.State
	j.State = to
	w.jobs[id] = j
	return w.order.Notice(domain.Recorded{Event: domain.Event{Aggregate: id.Aggregate(), Data: &domain.JobMoved{JobMove: domain.JobMove{From: from, To: to}}}})
}

func (w *world) before(t *testing.T, id domain.JobID) domain.JobID {
	t.Helper()
	before, err := w.order.Before(t.Context(), w.jobs[id])
	if err != nil {
		t.Fatal(err)
	}
	return before
}

var (
	one, two, three = domain.NewJobID(1), domain.NewJobID(2), domain.NewJobID(3)
	keys            = []domain.ObjectKey{domain.KeyOfPrimary("maps", "a"), domain.KeyOfPrimary("maps", "b"), domain.KeyOfLocalID("o", "maps", "a")}
)

// A job waits for the last of the jobs before it, and is woken when that one ends.
func TestWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	for _, ends := range []domain.JobState{domain.JobCompleted, domain.JobFailed, domain.JobDeleted} {
		w := newWorld()
		for _, id := range []domain.JobID{one, two, three} {
			w.put(id, domain.JobProcessing, keys[0])
		}
		if b := w.before(t, one); b != "" {
			t.Errorf("the first waits for %s", b)
		}
		if b := w.before(t, three); b != two || !w.order.Waits(three, two) {
			t.Errorf("the third waits for %q", b)
		}
		if woken := w.move(one, domain.JobRecording); len(woken) > 0 {
			t.Errorf("a job that goes on wakes %v", woken)
		}
		if woken := w.move(two, ends); !slices.Equal(woken, []domain.JobID{three}) || w.order.Waits(three, two) {
			t.Errorf("%s wakes %v", ends, woken)
		}
		if b := w.before(t, three); b != one {
			t.Errorf("then the third waits for %q", b)
		}
		w.move(one, ends)
		if b := w.before(t, three); b != "" {
			t.Errorf("at last the third waits for %q", b)
		}
	}
}

// An entry that older programs have left keeps no job waiting, and one that has reserved
// its version waits for none.
func TestWaitsForNone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put(one, domain.JobCompleted, keys[0])
	w.put(three, domain.JobProcessing, keys[0])
	w.left = []domain.JobID{one, two}
	if b := w.before(t, three); b != "" || w.order.Waits(three, one) || w.order.Waits(three, two) {
		t.Errorf("it waits for %q, which has ended", b)
	}
	w.put(one, domain.JobDownloading, keys[0])
	if b := w.before(t, three); b != one {
		t.Errorf("it waits for %q", b)
	}
	w.reserved[three] = 1
	if b := w.before(t, three); b != "" {
		t.Errorf("it has a version, and waits for %q", b)
	}
}

// Whatever keys jobs have and get, and whichever fail and are requeued: a job that
// reserves its version has no earlier one of its object beside it, and never do all wait.
// Shows: P17
func TestNoJobOvertakesAndOneCanAlwaysGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, ctx := newWorld(), context.Background()
		n := rapid.IntRange(2, 6).Draw(t, "jobs")
		for i := range n {
			w.put(domain.NewJobID(int64(i+1)), domain.JobProcessing, rapid.SliceOfDistinct(rapid.SampledFrom(keys), rapid.ID).Draw(t, fmt.Sprint("keys ", i+1))...)
		}
		goes := func(j domain.Job) bool {
			before, err := w.order.Before(ctx, j)
			if err != nil {
				t.Fatal(err)
			}
			return before == ""
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := domain.NewJobID(int64(rapid.IntRange(1, n).Draw(t, "job")))
			j := w.jobs[id]
			switch act := rapid.SampledFrom([]string{"name", "reserve", "complete", "fail", "requeue"}).Draw(t, "act"); {
			case j.State == domain.JobFailed && act == "requeue":
				w.move(id, domain.JobProcessing)
			case j.State != domain.JobProcessing:
			case act == "name":
				if key := rapid.SampledFrom(keys).Draw(t, "key"); !slices.Contains(j.Identifiers.ObjectKeys, key) {
					w.put(id, j.State, append(slices.Clone(j.Identifiers.ObjectKeys), key)...)
				}
			case act == "reserve" && goes(j) && w.reserved[id] == 0:
				for o := range w.jobs {
					if o < id && w.jobs[o].SameObject(j) {
						t.Fatalf("%s overtakes %s", id, o)
					}
				}
				w.reserved[id] = len(w.reserved) + 1
			case act == "complete" && w.reserved[id] > 0:
				w.move(id, domain.JobCompleted)
			case act == "fail":
				w.move(id, domain.JobFailed)
			}
			working := slices.DeleteFunc(slices.Sorted(maps.Keys(w.jobs)), func(id domain.JobID) bool { return w.jobs[id].State != domain.JobProcessing })
			if len(working) > 0 && !slices.ContainsFunc(working, func(id domain.JobID) bool { return goes(w.jobs[id]) }) {
				t.Fatalf("all of %v wait", working)
			}
		}
	})
}
