package order_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// world has the jobs of objects, their batches, and their object entries, in maps.
type world struct {
	jobs     map[domain.JobID]domain.Job
	batches  map[domain.BatchID]domain.Batch
	left     []domain.JobID // entries whose job has ended or is gone
	reserved map[domain.JobID]int
	reads    int // of jobs and batches
	now      time.Time
	order    *order.Jobs
}

func newWorld() *world {
	w := &world{jobs: map[domain.JobID]domain.Job{}, batches: map[domain.BatchID]domain.Batch{}, reserved: map[domain.JobID]int{}, now: time.Unix(1e9, 0)}
	w.order = order.New(w, w, func(_ context.Context, id domain.JobID) (int, error) { return w.reserved[id], nil }, func() time.Time { return w.now })
	return w
}

func (w *world) Job(_ context.Context, id domain.JobID) (at eventstore.Loaded[domain.Job], err error) {
	w.reads++
	j, there := w.jobs[id]
	if at.State = j; !there {
		err = eventstore.ErrNotFound
	}
	return at, err
}

func (w *world) Batch(_ context.Context, id domain.BatchID) (at eventstore.Loaded[domain.Batch], err error) {
	w.reads++
	b, there := w.batches[id]
	if at.State = b; !there {
		err = eventstore.ErrNotFound
	}
	return at, err
}

// JobsOfObject implements eventstore.Objects.
func (w *world) JobsOfObject(_ context.Context, j domain.Job) ([]domain.JobID, error) {
	all := slices.DeleteFunc(slices.Clone(w.left), func(id domain.JobID) bool { return id == j.ID })
	for id, o := range w.jobs {
		if id != j.ID && o.SameObject(j) && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, nil
}

// RunningBatches implements eventstore.Objects.
func (w *world) RunningBatches(_ context.Context, submitter string) (all []domain.BatchID, err error) {
	for id, b := range w.batches {
		if b.Submission.Submitter == submitter {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, nil
}

// batch sets the state of ana's batch, and the jobs of it.
func (w *world) batch(id domain.BatchID, state domain.BatchState, jobs ...domain.JobID) {
	b := domain.Batch{ID: id, State: state, Submission: domain.Submission{Submitter: "ana", ProfileName: "maps"}, Modified: domain.At(w.now)}
	if len(jobs) > 0 {
		b.Listing = &domain.Listing{FirstJID: jobs[0], Rows: len(jobs)}
	}
	w.batches[id] = b
	for _, job := range jobs {
		j := w.jobs[job]
		j.Configuration.BatchID = id
		w.jobs[job] = j
	}
}

// put sets the state and the keys of a job.
func (w *world) put(id domain.JobID, state domain.JobState, keys ...domain.ObjectKey) {
	j := domain.Job{ID: id, State: state, Identifiers: domain.Identifiers{ObjectKeys: keys}}
	j.Configuration.BatchID, j.Configuration.Submitter, j.Configuration.ProfileName, j.Configuration.ObjectKey = cmp.Or(w.jobs[id].Configuration.BatchID, domain.NewBatchID(9)), "ana", "maps", string(keys[0])
	w.jobs[id] = j
}

// move moves a job on, and returns which jobs that wakes.
func (w *world) move(id domain.JobID, to domain.JobState) []domain.JobID {
	j := w.jobs[id]
	from := j.State
	j.State = to
	w.jobs[id] = j
	return w.order.Notice(domain.Recorded{Event: domain.Event{Aggregate: id.Aggregate(), Data: &domain.JobMoved{JobMove: domain.JobMove{From: from, To: to}}}})
}

func (w *world) waits(t *testing.T, id domain.JobID) order.Before {
	t.Helper()
	before, err := w.order.Before(t.Context(), w.jobs[id])
	if err != nil {
		t.Fatal(err)
	}
	return before
}

func (w *world) before(t *testing.T, id domain.JobID) domain.JobID {
	t.Helper()
	before := w.waits(t, id)
	if before.Batch != "" {
		t.Fatalf("%s waits for %s", id, before.Batch)
	}
	return before.Job
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
		if b := w.before(t, three); b != two || !w.order.Waits(three, order.Before{Job: two}) {
			t.Errorf("the third waits for %q", b)
		}
		if woken := w.move(one, domain.JobRecording); len(woken) > 0 {
			t.Errorf("a job that goes on wakes %v", woken)
		}
		if woken := w.move(two, ends); !slices.Equal(woken, []domain.JobID{three}) || w.order.Waits(three, order.Before{Job: two}) {
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
	if b := w.before(t, three); b != "" || w.order.Waits(three, order.Before{Job: one}) || w.order.Waits(three, order.Before{Job: two}) {
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
// Beside processes of an older program, which go by ids alone, no job overtakes one of its
// own deposit, nor one of an earlier deposit that was listed before its own.
// Shows: P17
func TestNoJobOvertakesAndOneCanAlwaysGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, ctx := newWorld(), context.Background()
		n := rapid.IntRange(2, 6).Draw(t, "jobs")
		// The ids of jobs follow the order in which batches are listed, which is not that in
		// which they were deposited.
		listed := rapid.Permutation([]int64{1, 2, 3, 4, 5, 6}).Draw(t, "batches")
		of := map[domain.BatchID][]domain.JobID{}
		b := 0
		for i := range n {
			if i > 0 && rapid.Bool().Draw(t, fmt.Sprint("new batch ", i+1)) {
				b++
			}
			id := domain.NewBatchID(listed[b])
			of[id] = append(of[id], domain.NewJobID(int64(i+1)))
		}
		for i := range n {
			w.put(domain.NewJobID(int64(i+1)), domain.JobProcessing, rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, -1, rapid.ID).Draw(t, fmt.Sprint("keys ", i+1))...)
		}
		for id, jobs := range of {
			w.batch(id, domain.BatchProcessing, jobs...)
		}
		older := rapid.Bool().Draw(t, "an older program beside it")
		byID := func(j domain.Job) bool {
			return !slices.ContainsFunc(slices.Collect(maps.Values(w.jobs)), func(o domain.Job) bool {
				return o.ID < j.ID && o.State == domain.JobProcessing && o.SameObject(j)
			})
		}
		precedes := func(a, b domain.Job) bool {
			return cmp.Or(cmp.Compare(a.Configuration.BatchID, b.Configuration.BatchID), cmp.Compare(a.ID, b.ID)) < 0
		}
		goes := func(j domain.Job) bool {
			before, err := w.order.Before(ctx, j)
			if err != nil {
				t.Fatal(err)
			}
			return before == order.Before{}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := domain.NewJobID(int64(rapid.IntRange(1, n).Draw(t, "job")))
			j := w.jobs[id]
			switch act := rapid.SampledFrom([]string{"name", "reserve", "reserve by id", "complete", "fail", "requeue"}).Draw(t, "act"); {
			case j.State == domain.JobFailed && act == "requeue":
				w.move(id, domain.JobProcessing)
			case j.State != domain.JobProcessing:
			case act == "name":
				if key := rapid.SampledFrom(keys).Draw(t, "key"); !slices.Contains(j.Identifiers.ObjectKeys, key) {
					w.put(id, j.State, append(slices.Clone(j.Identifiers.ObjectKeys), key)...)
				}
			case w.reserved[id] == 0 && (act == "reserve" && goes(j) || act == "reserve by id" && older && byID(j)):
				for o := range w.jobs {
					listedLater := act == "reserve by id" && o > id // of another deposit: see precedes
					if precedes(w.jobs[o], j) && w.jobs[o].State == domain.JobProcessing && w.jobs[o].SameObject(j) && !listedLater {
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

// Versions follow the deposits, whichever manifest is read first: a job waits for an older
// batch of its submitter that makes its jobs yet, and then for those of its object, though
// their ids are higher. It does so for a bounded time, and no other submitter waits.
// Shows: P17
func TestOrderOfDeposits(t *testing.T) {
	t.Parallel()
	older, newer, newest := domain.NewBatchID(1), domain.NewBatchID(2), domain.NewBatchID(3)
	w := newWorld()
	w.put(one, domain.JobProcessing, keys[0])
	w.batch(older, domain.BatchPending)
	w.batch(newer, domain.BatchProcessing, one)
	w.batch(newest, domain.BatchPending)
	unread := order.Before{Batch: older}
	if b := w.waits(t, one); b != unread || !w.order.Waits(one, unread) || !strings.Contains(b.Reason().Message, string(older)) {
		t.Errorf("it waits for %+v: %s", b, b.Reason().Message)
	}
	for what, change := range map[string]func(j *domain.Job){
		"of another submitter": func(j *domain.Job) { j.Configuration.Submitter = "ben" },
		"of another profile":   func(j *domain.Job) { j.Configuration.ProfileName = "films" },
		"without a name":       func(j *domain.Job) { j.Configuration.ObjectKey = "" },
		"without a key":        func(j *domain.Job) { j.Identifiers.ObjectKeys = nil },
	} {
		j := w.jobs[one]
		change(&j)
		if b, err := w.order.Before(t.Context(), j); b != (order.Before{}) || err != nil {
			t.Errorf("one %s waits for %+v (%v)", what, b, err)
		}
	}
	w.reserved[one] = 1
	if b := w.waits(t, one); b != (order.Before{}) {
		t.Errorf("it has a version, and waits for %+v", b)
	}
	delete(w.reserved, one)
	w.waits(t, one)
	w.now = w.now.Add(order.Patience)
	if b := w.waits(t, one); b != (order.Before{}) || w.order.Waits(one, unread) {
		t.Errorf("it waits for ever for %+v", b)
	}
	w.batch(older, domain.BatchPending)
	w.waits(t, one)

	w.put(two, domain.JobEstimating, keys[0])
	w.put(three, domain.JobEstimating, keys[1])
	w.batch(older, domain.BatchProcessing, two, three)
	if woken := w.order.Notice(domain.Recorded{Event: domain.Event{Aggregate: older.Aggregate(), Data: &domain.BatchListed{BatchMove: domain.BatchMove{From: domain.BatchPending, To: domain.BatchPending}}}}); len(woken) > 0 {
		t.Errorf("a batch that is listed wakes %v", woken)
	}
	if woken := w.order.Notice(domain.Recorded{Event: domain.Event{Aggregate: older.Aggregate(), Data: &domain.BatchMoved{BatchMove: domain.BatchMove{From: domain.BatchPending, To: domain.BatchProcessing}}}}); !slices.Equal(woken, []domain.JobID{one}) {
		t.Errorf("a batch that has its jobs wakes %v", woken)
	}
	if b := w.before(t, one); b != two {
		t.Errorf("then it waits for %q", b)
	}
	if b := w.before(t, two); b != "" {
		t.Errorf("the first deposit waits for %q", b)
	}
	if woken := w.move(two, domain.JobCompleted); !slices.Equal(woken, []domain.JobID{one}) || w.before(t, one) != "" {
		t.Errorf("its end wakes %v", woken)
	}
}

// However many rows one object has, a few of their jobs and batches are read.
func TestRowsOfOneObjectAreNotRead(t *testing.T) {
	t.Parallel()
	const rows = 1000
	w := newWorld()
	for n := range 3 {
		ids := make([]domain.JobID, rows)
		for i := range ids {
			ids[i] = domain.NewJobID(int64(n*rows + i + 1))
			w.put(ids[i], domain.JobProcessing, keys[0])
		}
		w.batch(domain.NewBatchID(int64(3-n)), domain.BatchProcessing, ids...)
	}
	last := domain.NewJobID(rows)
	if b := w.before(t, last); b != last.Plus(-1) || w.reads > 10 {
		t.Errorf("it waits for %s, after %d reads", b, w.reads)
	}
	if b := w.before(t, one); b != domain.NewJobID(2*rows) {
		t.Errorf("the first of the last deposit waits for %s", b)
	}
}
