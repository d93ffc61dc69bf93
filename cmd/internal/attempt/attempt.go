// Package attempt makes the attempts at files for which entries of the compute queue stand:
// each step of an entry has one of its file beside it. It also finds the files of own steps of
// jobs ([Step]).
//
// # Promises
//
// The file is the authority. An entry is claimed before its file is PROCESSING, and ends after
// its file has. Between the two the process may die: the process that takes the entry over finds out by
// the file which half is missing, and repeats it. A worker that has lost its attempt is refused
// by the file's own fence.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
)

// Attempts are the attempts at files.
type Attempts struct {
	Files *files.Handler
	// Limits returns how often, and how long, the files of a profile are processed.
	Limits   func(ctx context.Context, profile string) (domain.Limits, error)
	Contents Contents
	Jobs     Jobs // for whose own steps entries stand
	Actor    domain.Actor
}

// Contents are the local copies of files; [store.Local] is one.
type Contents interface {
	// Open opens what was downloaded. [store.CodeNotFound]: it is not there.
	Open(hash domain.FileHash, sha256 string) (*os.File, error)
}

// Attempt is the attempt at the file of an entry that a worker has taken.
type Attempt struct {
	compute.Attempt
	all   *Attempts
	entry compute.Entry
	file  domain.File // as the worker has begun it
}

// Of returns the attempt of an entry, nil = the entry is about no file.
func (all *Attempts) Of(e compute.Entry) *Attempt {
	a, is := compute.AttemptOf(e.Work.Key)
	if !is {
		return nil
	}
	return &Attempt{Attempt: a, all: all, entry: e}
}

// File returns the file, as the worker has begun it.
func (a *Attempt) File() domain.File { return a.file }

func (a *Attempt) meta() eventstore.Meta { return eventstore.Meta{Actor: a.all.Actor} }

// load reads the file from the log.
func (a *Attempt) load(ctx context.Context) (domain.File, error) {
	is, err := a.all.Files.FromLog(ctx, []domain.FileHash{a.Hash})
	if err == nil && is[a.Hash].Version == 0 {
		err = &eventstore.Error{Op: "process", Aggregate: a.Hash.Aggregate(), Err: eventstore.ErrNotFound}
	}
	return is[a.Hash], err
}

// Begin begins the attempt (F11) for the worker that has taken the entry. If the file does not
// let it begin, end is the command with which the entry ends.
func (a *Attempt) Begin(ctx context.Context) (end compute.Command, err error) {
	f, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case a.mine(f): // it was begun, and the answer was lost
		a.file = f
		return nil, nil
	case !a.Waits(f):
		return a.settle(ctx, f, moved(f))
	}
	m := a.meta()
	m.IfVersion = f.Version
	var res files.Result
	err = crash.Around("attempt/file/start", func() (err error) {
		res, err = a.all.Files.File(ctx, a.Hash, domain.StartProcessing{Worker: a.entry.Worker}, m)
		return err
	})
	if refused(err) {
		return a.Recover(ctx, moved(f))
	}
	a.file = res.File
	return nil, err
}

// Resume finds the attempt again that the worker of the entry has begun; nothing is written.
// If it is not open any more, end is the command with which the entry ends.
func (a *Attempt) Resume(ctx context.Context) (end compute.Command, err error) {
	f, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	if a.file = f; !a.mine(f) {
		return a.settle(ctx, f, moved(f))
	}
	return nil, nil
}

// mine reports whether the attempt is open, and that of the worker of the entry.
func (a *Attempt) mine(f domain.File) bool { return a.Open(f) && f.Worker == a.entry.Worker }

// End ends an attempt that has begun, as the entry is to end by a command of its worker (F12,
// or F13 and what follows from it), and returns the command with which the entry ends.
func (a *Attempt) End(ctx context.Context, cmd compute.Command) (compute.Command, error) {
	switch c := cmd.(type) {
	case compute.Complete:
		out := domain.FileOutput{Key: string(a.entry.ID), SHA256: c.Result.SHA256, Size: c.Result.Size}
		err := crash.Around("attempt/file/finish", func() error {
			_, err := a.all.Files.File(ctx, a.Hash, domain.FinishProcessing{Fence: a.file.Fence, Output: &out}, a.meta())
			return err
		})
		if refused(err) {
			f, err := a.load(ctx)
			if err != nil {
				return nil, err
			}
			return a.settle(ctx, f, moved(f))
		}
		return c, err
	case compute.Return:
		return a.fail(ctx, a.file, c.Reason, c.Uncounted, false)
	case compute.Fail:
		return a.fail(ctx, a.file, c.Reason, false, true)
	}
	return cmd, nil
}

// Recover ends the attempt of a worker that has the entry no longer, or has no attempt, and
// returns the command with which the entry ends.
func (a *Attempt) Recover(ctx context.Context, why domain.Reason) (compute.Command, error) {
	f, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	return a.settle(ctx, f, why)
}

// Lose ends the open attempt of a file whose worker has no entry any more, and lets the file wait
// again if it may. An attempt that has ended meanwhile is left as it is.
func (all *Attempts) Lose(ctx context.Context, f domain.File) error {
	a := &Attempt{Attempt: compute.Attempt{Hash: f.Hash, Number: f.ProcessingAttempts}, all: all}
	_, err := a.fail(ctx, f, domain.WorkerLost(f.Worker), false, false)
	return err
}

// settle ends the attempt if it is open: no worker has it any more.
func (a *Attempt) settle(ctx context.Context, f domain.File, why domain.Reason) (compute.Command, error) {
	if a.Open(f) {
		return a.fail(ctx, f, domain.WorkerLost(f.Worker), false, false)
	}
	return a.entry.EndWith(a.Attempt, f, why), nil
}

// fail ends the open attempt of a file (F13), lets the file wait again if it may (F14), and
// returns the command with which the entry ends. never is set when no other attempt helps.
func (a *Attempt) fail(ctx context.Context, f domain.File, why domain.Reason, uncounted, never bool) (compute.Command, error) {
	limits, err := a.all.Limits(ctx, f.Spec.Profile)
	if err != nil {
		return nil, err
	}
	if never {
		limits.Max = min(limits.Max, f.ProcessingAttempts)
	}
	err = crash.Around("attempt/file/fail", func() error {
		_, err := a.all.Files.File(ctx, a.Hash, domain.FailProcessing{Fence: f.Fence, Reason: why, Limits: limits, Uncounted: uncounted}, a.meta())
		return err
	})
	if err != nil && !refused(err) {
		return nil, err
	}
	f, err = a.load(ctx)
	if err != nil {
		return nil, err
	}
	if f.State == domain.FileProcessingFailed {
		if f, err = a.retry(ctx, f, limits); err != nil {
			return nil, err
		}
	}
	return a.entry.EndWith(a.Attempt, f, why), nil
}

// retry lets a failed file wait again at once, unless it must pause before: then the sweeper
// does it.
func (a *Attempt) retry(ctx context.Context, f domain.File, limits domain.Limits) (domain.File, error) {
	now, err := a.all.Files.Now(ctx)
	if err != nil {
		return f, err
	}
	err = crash.Around("attempt/file/retry", func() error {
		res, err := a.all.Files.File(ctx, a.Hash, domain.RetryProcessing{Limits: limits, Now: now}, a.meta())
		if err == nil {
			f = res.File
		}
		return err
	})
	if refused(err) {
		return f, nil
	}
	return f, err
}

// refused reports whether the rules do not allow a command: the file is in another state than
// it was.
func refused(err error) bool {
	var r *domain.Refused
	return errors.As(err, &r) || errors.Is(err, eventstore.ErrOutdated)
}

func moved(f domain.File) domain.Reason {
	return domain.Reason{Class: domain.ClassWait, Code: compute.CodeFileMoved, Message: fmt.Sprintf("its file is %s by now", f.State)}
}
