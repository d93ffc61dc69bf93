// Package order decides whether a job is the first of the jobs of its object, and wakes
// those that wait for another.
//
// Jobs are in the order of their batches, and within a batch of their ids. A job that has
// not reserved its version waits for jobs that come before it, and for no others. One that
// has reserved it waits for none: its version is settled. So no two jobs ever wait for each
// other, whatever keys they have in common and whenever they got them.
//
// An older batch of the same submitter and profile that runs and has not made all its jobs
// may yet make one of the object: a job of a deposit that names its object waits for it
// too, for a bounded time. It waits only for batches that the deposit queue handed out
// before its own.
//
// A job may also wait for an entry of the compute queue, which an own step of it has
// requested.
package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Patience is how long a job waits for an older batch that makes no jobs: longer than a
// manifest is asked for, and not for ever, because that batch may itself wait for room.
const Patience = 2 * time.Hour

// Live reads batches and jobs.
type Live interface {
	Batch(ctx context.Context, id domain.BatchID) (eventstore.Loaded[domain.Batch], error)
	Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
}

// Before is what a job waits for: another job of its object, a batch that may make one, or
// an entry. The zero value is nothing.
type Before struct {
	Job   domain.JobID
	Batch domain.BatchID
	Entry compute.ID
	Step  string // that has requested the entry
}

func (b Before) id() string { return cmp.Or(string(b.Job), string(b.Batch), string(b.Entry)) }

// Reason says that a job waits for another one, for a batch, or for an entry.
func (b Before) Reason() domain.Reason {
	if b.Entry != "" {
		return domain.Reason{Code: compute.CodeCompute, Message: fmt.Sprintf("it waits for %s, the step %s of its profile: a worker of the compute queue makes it", b.Entry, b.Step)}
	}
	r := domain.Reason{Code: domain.CodeObjectLocked,
		Message: fmt.Sprintf("it waits for %s, the job before it of the same object: versions follow the order of the deposits", b.Job)}
	if b.Batch != "" {
		r.Message = fmt.Sprintf("it waits for %s, an earlier deposit of the same submitter that has not made all its jobs: one of them may be of the same object, and versions follow the order of the deposits", b.Batch)
	}
	return r
}

// Jobs are the jobs of this process that wait for another job of their object.
type Jobs struct {
	objects  eventstore.Objects
	live     Live
	reserved func(context.Context, domain.JobID) (version int, err error)
	clock    func() time.Time

	mu    sync.Mutex
	after map[string]map[domain.JobID]bool // the jobs that wait for a job or a batch
}

// New returns an order. reserved returns the version that a job has reserved, 0 = none.
func New(objects eventstore.Objects, live Live, reserved func(context.Context, domain.JobID) (version int, err error), clock func() time.Time) *Jobs {
	return &Jobs{objects: objects, live: live, reserved: reserved, clock: clock, after: map[string]map[domain.JobID]bool{}}
}

// Before returns what a job waits for. Of several jobs it is the last, so that a job waits
// for one job only while those before that one end. Until that job or batch has ended the
// waiting one is remembered.
//
// Batches come first: when none makes jobs any more, the entries of all its jobs are there.
func (o *Jobs) Before(ctx context.Context, j domain.Job) (Before, error) {
	if len(j.Objects()) == 0 {
		return Before{}, nil
	}
	batch, err := o.making(ctx, j)
	if err != nil {
		return Before{}, err
	}
	if batch != "" {
		return o.unlessReserved(ctx, j, Before{Batch: batch})
	}
	earlier, err := o.earlier(ctx, j)
	for _, id := range slices.Backward(earlier) {
		stands, err := o.stands(ctx, id, j)
		if err != nil {
			return Before{}, err
		}
		if stands {
			return o.unlessReserved(ctx, j, Before{Job: id})
		}
	}
	return Before{}, err
}

// unlessReserved returns before, and nothing for a job that has reserved its version.
func (o *Jobs) unlessReserved(ctx context.Context, j domain.Job, before Before) (Before, error) {
	if version, err := o.reserved(ctx, j.ID); err != nil || version > 0 {
		return Before{}, err
	}
	return before, nil
}

// making returns the last of the older batches that may yet make a job of the object, ""
// = there is none, and lets j wait for it.
func (o *Jobs) making(ctx context.Context, j domain.Job) (domain.BatchID, error) {
	if j.Configuration.ObjectKey == "" { // no other deposit can name its object
		return "", nil
	}
	running, err := o.objects.RunningBatches(ctx, j.Configuration.Submitter)
	for _, id := range slices.Backward(running) {
		if id >= j.Configuration.BatchID {
			continue
		}
		o.wait(j.ID, string(id)) // before the batch is read: if it goes on now, the event comes after this
		b, err := o.live.Batch(ctx, id)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) && !errors.Is(err, eventstore.ErrBroken) {
			return "", err
		}
		if err == nil && b.State.State == domain.BatchPending && o.clock().Sub(b.State.Modified.Time) < Patience &&
			b.State.Submission.ProfileName == j.Configuration.ProfileName && b.State.Submission.Submitter == j.Configuration.Submitter {
			return id, nil
		}
		o.forget(j.ID, string(id))
	}
	return "", err
}

// earlier lists the jobs that come before j and have an entry of its object, in order.
func (o *Jobs) earlier(ctx context.Context, j domain.Job) ([]domain.JobID, error) {
	beside, err := o.objects.JobsOfObject(ctx, j)
	if err != nil || len(beside) == 0 {
		return nil, err
	}
	ranges := ranges{live: o.live}
	if err := ranges.add(ctx, j.Configuration.BatchID, j.ID); err != nil {
		return nil, err
	}
	of := map[domain.JobID]domain.BatchID{}
	for _, id := range beside {
		batch, err := ranges.batch(ctx, id)
		if err != nil {
			return nil, err
		}
		if batch != "" && cmp.Or(cmp.Compare(batch, j.Configuration.BatchID), cmp.Compare(id, j.ID)) < 0 {
			of[id] = batch
		}
	}
	return slices.SortedFunc(maps.Keys(of), func(a, b domain.JobID) int { return cmp.Or(cmp.Compare(of[a], of[b]), cmp.Compare(a, b)) }), nil
}

// ranges finds the batches of jobs: one job of each batch is read, because the ids of the
// others are known from its listing.
type ranges struct {
	live  Live
	known []idRange
}

// idRange is a batch, and the first and last of its jobs.
type idRange struct {
	batch       domain.BatchID
	first, last domain.JobID
}

// batch returns the batch of a job, "" = the job is gone.
func (r *ranges) batch(ctx context.Context, id domain.JobID) (domain.BatchID, error) {
	for _, k := range r.known {
		if k.first <= id && id <= k.last {
			return k.batch, nil
		}
	}
	j, err := r.live.Job(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return "", nil
	}
	if err == nil {
		err = r.add(ctx, j.State.Configuration.BatchID, id)
	}
	return j.State.Configuration.BatchID, err
}

// add keeps the range of a batch of which one job is known.
func (r *ranges) add(ctx context.Context, batch domain.BatchID, id domain.JobID) error {
	k := idRange{batch, id, id}
	b, err := r.live.Batch(ctx, batch)
	if errors.Is(err, eventstore.ErrNotFound) {
		err = nil
	}
	if l := b.State.Listing; l != nil {
		k.first, k.last = l.FirstJID, l.FirstJID.Plus(l.Rows-1)
	}
	r.known = append(r.known, k)
	return err
}

// stands reports whether an earlier job has not ended, and lets j wait for it. An entry
// may be left over: older programs do not know them.
func (o *Jobs) stands(ctx context.Context, id domain.JobID, j domain.Job) (bool, error) {
	o.wait(j.ID, string(id)) // before the job is read: if it ends now, the event comes after this
	at, err := o.live.Job(ctx, id)
	stands := err == nil && at.State.SameObject(j)
	if !stands {
		o.forget(j.ID, string(id))
	}
	if errors.Is(err, eventstore.ErrNotFound) {
		err = nil
	}
	return stands, err
}

// WaitFor lets a job wait for an entry. The caller reads the entry after it: an end that
// the log has told before is not told again.
func (o *Jobs) WaitFor(j domain.JobID, id compute.ID) { o.wait(j, string(id)) }

func (o *Jobs) wait(j domain.JobID, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.after[id] == nil {
		o.after[id] = map[domain.JobID]bool{}
	}
	o.after[id][j] = true
}

// Waits reports whether a job still waits: what it waits for has not ended since
// [Jobs.Before].
func (o *Jobs) Waits(j domain.JobID, before Before) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.after[before.id()][j]
}

// Notice takes an event that was read from the log, and returns the jobs that waited for
// its job, batch or entry and need not wait any more.
func (o *Jobs) Notice(e domain.Recorded) []domain.JobID {
	if m, ok := e.Data.(*domain.EntryMove); ok {
		if !m.To.Ended() {
			return nil
		}
	} else if m, ok := domain.MoveOfJob(e.Data); ok && m.To.Sub() == domain.SubProcessing {
		return nil
	} else if b, is := domain.MoveOfBatch(e.Data); !ok && (!is || b.To == domain.BatchPending) {
		return nil
	}
	return o.wake(e.Aggregate.ID, func(domain.JobID) bool { return true })
}

// forget ends the waiting of one job.
func (o *Jobs) forget(j domain.JobID, id string) {
	o.wake(id, func(waits domain.JobID) bool { return waits == j })
}

// wake forgets jobs that wait for a job or batch, and returns them in their order.
func (o *Jobs) wake(id string, which func(domain.JobID) bool) (woken []domain.JobID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for j := range o.after[id] {
		if which(j) {
			woken = append(woken, j)
			delete(o.after[id], j)
		}
	}
	if len(o.after[id]) == 0 {
		delete(o.after, id)
	}
	slices.Sort(woken)
	return woken
}
