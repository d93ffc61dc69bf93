// Package ownstep makes the own steps of jobs: those that their profile names, which workers
// of the compute queue do between downloading and storing.
//
// # Promises
//
// A step is requested under a key that the job, its step and its retry_count give: a process
// that requests it again finds the entry that is there, so that one may die anywhere. The
// entry is the authority on how the step has ended; nothing is kept here.
package ownstep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// Records has what workers have kept; *record.Records is one.
type Records interface {
	ComputeResult(ctx context.Context, id compute.ID, sha256 string, claim int64) (c record.ComputeResult, found bool, err error)
}

// Maker makes the own steps of jobs.
type Maker struct {
	Handler *eventstore.Handler
	Records Records
	Order   *order.Jobs // learns for which entries jobs wait
}

// poll is when a job looks at its entry again, if no event has told.
const poll = 30 * time.Second

// Standing is where the steps of a job stand. At most one of Before and Failed is set.
type Standing struct {
	Results []Result       // in the order of steps and files; all of them if neither is set
	Before  order.Before   // the entry that the job waits for
	Delay   time.Duration  // after which it looks again
	Failed  *domain.Reason // why the job fails
}

// File is a file of a job: all of them are inputs of each step.
type File struct {
	Hash domain.FileHash
	Name string
}

// Make requests what is missing, one step after the other, and says where the steps of a job
// stand. It writes nothing but requests.
func (m Maker) Make(ctx context.Context, j domain.Job, p profile.Profile, files []File, actor domain.Actor) (s Standing, err error) {
	for _, step := range p.Steps {
		var entries []compute.Entry
		parts := slices.Collect(slices.Chunk(files, compute.PartFiles))
		for i, part := range parts {
			stands := compute.Step{Job: j.ID, Name: step.Name, Retry: j.RetryCount, Part: i + 1}
			hashes := make([]domain.FileHash, len(part))
			for i, f := range part {
				hashes[i] = f.Hash
			}
			e, err := m.request(ctx, stands, p, step, stands.Inputs(hashes), actor)
			if err != nil {
				return s, fmt.Errorf("request the step %s: %w", step.Name, err)
			}
			entries = append(entries, e)
		}
		for i, e := range entries {
			if s, err = m.look(ctx, s, j, step, e, parts[i]); err != nil || s.Failed != nil || s.Before.Entry != "" {
				return s, err
			}
		}
	}
	return s, nil
}

// request requests the entry of a step, or finds it. One that has ended since its job waits for
// it again: the job was held meanwhile.
func (m Maker) request(ctx context.Context, s compute.Step, p profile.Profile, step profile.Step, inputs []string, actor domain.Actor) (compute.Entry, error) {
	dataset := cmp.Or(step.Dataset, compute.StateDataset(domain.JobProcessing))
	cmd := compute.Request{Work: entry.Work{Dataset: dataset, Group: p.Name, Priority: entry.Priority(cmp.Or(step.Priority, int(entry.DefaultPriority))), Key: s.Key()},
		Request: entry.Request{Submitter: string(actor), Inputs: inputs}}
	var res eventstore.Result[compute.Entry]
	err := crash.Around("ownstep/entry/request", func() (err error) {
		res, err = m.Handler.RequestEntry(ctx, cmd, eventstore.Meta{Actor: actor})
		return err
	})
	if e := res.State; err == nil && e.State == entry.Failed && e.Reason != nil && e.Reason.Code == compute.CodeJobMoved {
		why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeRetried, Message: "its job waits for it again"}
		err = crash.Around("ownstep/entry/again", func() (err error) {
			res, err = m.Handler.Entry(ctx, e.ID, compute.Retry{Reason: &why}, eventstore.Meta{Actor: actor})
			return err
		})
	}
	return res.State, err
}

// look adds what has become of an entry.
func (m Maker) look(ctx context.Context, s Standing, j domain.Job, step profile.Step, e compute.Entry, files []File) (Standing, error) {
	if !e.State.Ended() {
		m.Order.WaitFor(j.ID, e.ID) // before it is read: if it ends now, the event comes after this
		at, err := m.Handler.Entries.LoadEntry(ctx, e.ID)
		if err != nil {
			return s, fmt.Errorf("read the entry of the step %s: %w", step.Name, err)
		}
		e = at.State
	}
	switch e.State {
	case entry.Successful:
		return m.kept(ctx, s, step, e, files)
	case entry.Failed:
		why := compute.Step{Name: step.Name}.Failure(e)
		s.Failed = &why
		return s, nil
	}
	s.Before, s.Delay = order.Before{Entry: e.ID, Step: step.Name}, poll
	if limit := time.Duration(step.Timeout); e.Owned() && limit > 0 {
		left := limit - m.Handler.Clock().Sub(e.Modified.Time)
		if left <= 0 {
			s.Before, s.Failed = order.Before{}, &domain.Reason{Class: domain.ClassTimeout, Code: compute.CodeStepTimeout,
				Message: fmt.Sprintf("%s: worker %s has had %s for longer than %s", step.Name, e.Worker, e.ID, limit)}
		}
		s.Delay = min(s.Delay, max(left, time.Second))
	}
	return s, nil
}

// kept adds the result of an entry.
func (m Maker) kept(ctx context.Context, s Standing, step profile.Step, e compute.Entry, files []File) (Standing, error) {
	if e.Result == nil {
		return s, &eventstore.Error{Op: "read the result of", Aggregate: e.ID.Aggregate(), Err: eventstore.ErrBroken}
	}
	var kept record.ComputeResult
	err := crash.Around("ownstep/result/read", func() error {
		is, found, err := m.Records.ComputeResult(ctx, e.ID, e.Result.SHA256, e.Version-1)
		if err == nil && !found {
			err = errors.New("it is not in record.compute_result")
		}
		kept = is
		return err
	})
	if err != nil {
		return s, fmt.Errorf("read the result of %s, the step %s: %w", e.ID, step.Name, err)
	}
	r := Result{Step: step.Name, Entry: e.ID, Worker: kept.Worker, Attempt: kept.Attempt, ExitStatus: e.Result.ExitStatus, SHA256: e.Result.SHA256, Result: kept.Result, Outputs: kept.Outputs}
	for _, f := range files {
		r.Files = append(r.Files, f.Name)
	}
	s.Results = append(s.Results, r)
	return s, nil
}
