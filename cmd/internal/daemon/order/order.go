// Package order decides whether a job is the first of the jobs of its object, and wakes
// those that wait for another.
//
// A job that has not reserved its version waits for jobs with lower ids, and for no
// others. One that has reserved it waits for none: its version is
// settled. So no two jobs ever wait for each other, whatever keys they have in common and
// whenever they got them.
package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Jobs are the jobs of this process that wait for another job of their object.
type Jobs struct {
	objects  eventstore.Objects
	job      func(context.Context, domain.JobID) (eventstore.Loaded[domain.Job], error)
	reserved func(context.Context, domain.JobID) (version int, err error)

	mu    sync.Mutex
	after map[domain.JobID]map[domain.JobID]bool // the jobs that wait for a job
}

// New returns an order. job reads a job; reserved returns the version that a job has
// reserved, 0 = none.
func New(objects eventstore.Objects, job func(context.Context, domain.JobID) (eventstore.Loaded[domain.Job], error),
	reserved func(context.Context, domain.JobID) (version int, err error),
) *Jobs {
	return &Jobs{objects: objects, job: job, reserved: reserved, after: map[domain.JobID]map[domain.JobID]bool{}}
}

// Before returns the job for which a job waits, "" = it is the first. Of several it is
// the last, so that a job waits for one job only while those before that one end. Until
// that job has ended the waiting one is remembered.
func (o *Jobs) Before(ctx context.Context, j domain.Job) (domain.JobID, error) {
	earlier, err := o.objects.Earlier(ctx, j)
	for _, id := range slices.Backward(earlier) {
		stands, err := o.stands(ctx, id, j)
		if err != nil {
			return "", err
		}
		if !stands {
			continue
		}
		if version, err := o.reserved(ctx, j.ID); err != nil || version > 0 {
			return "", err
		}
		return id, nil
	}
	return "", err
}

// stands reports whether an earlier job has not ended, and lets j wait for it. An entry
// may be left over: older programs do not know them.
func (o *Jobs) stands(ctx context.Context, id domain.JobID, j domain.Job) (bool, error) {
	o.wait(j.ID, id) // before the job is read: if it ends now, the event comes after this
	at, err := o.job(ctx, id)
	stands := err == nil && at.State.SameObject(j)
	if !stands {
		o.wake(id, func(waits domain.JobID) bool { return waits == j.ID })
	}
	if errors.Is(err, eventstore.ErrNotFound) {
		err = nil
	}
	return stands, err
}

func (o *Jobs) wait(j, id domain.JobID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.after[id] == nil {
		o.after[id] = map[domain.JobID]bool{}
	}
	o.after[id][j] = true
}

// Waits reports whether a job still waits for another: that one has not ended since
// [Jobs.Before].
func (o *Jobs) Waits(j, id domain.JobID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.after[id][j]
}

// Notice takes an event that was read from the log, and returns the jobs that waited for
// its job and need not wait any more.
func (o *Jobs) Notice(e domain.Recorded) []domain.JobID {
	m, ok := domain.MoveOfJob(e.Data)
	if !ok || m.To.Sub() == domain.SubProcessing {
		return nil
	}
	return o.wake(domain.JobID(e.Aggregate.ID), func(domain.JobID) bool { return true })
}

// wake forgets jobs that wait for a job, and returns them in their order.
func (o *Jobs) wake(id domain.JobID, which func(domain.JobID) bool) (woken []domain.JobID) {
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

// Reason says that a job waits for another job of its object.
func Reason(before domain.JobID) domain.Reason {
	return domain.Reason{Code: domain.CodeObjectLocked,
		Message: fmt.Sprintf("it waits for %s, the job before it of the same object: versions follow the order of the deposits", before)}
}
