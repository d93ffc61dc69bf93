package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Jobs has the jobs for whose own steps entries stand.
type Jobs interface {
	// Job reads a job from the live state. [eventstore.ErrNotFound]: it is gone.
	Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
	// Open opens a downloaded file of a job. [store.CodeNotFound]: it is not there.
	Open(ctx context.Context, f domain.File) (*os.File, error)
}

// Step is an own step of a job, for whose entry a worker has its files. Nothing is written to
// the job: it looks at the entry.
type Step struct {
	compute.Step
	all   *Attempts
	entry compute.Entry
	job   domain.Job
	files []domain.File
}

// StepOf returns the step of an entry, nil = the entry stands for none.
func (all *Attempts) StepOf(e compute.Entry) *Step {
	s, is := compute.StepOf(e.Work.Key)
	if !is {
		return nil
	}
	return &Step{Step: s, all: all, entry: e}
}

// Begin finds the files of the step. If its job does not wait for it any more, end is the
// command with which the entry ends.
func (s *Step) Begin(ctx context.Context) (end compute.Command, err error) {
	end, err = s.Over(ctx)
	if err != nil || end != nil || s.Outside() {
		return end, err
	}
	hashes, are := s.entry.InputFiles()
	if !are {
		return compute.Fail{Reason: domain.Reason{Class: domain.ClassSystem, Code: domain.CodeBadFile, Message: "its inputs are no files of this service"}}, nil
	}
	known, err := s.all.Files.FromLog(ctx, hashes)
	if err != nil {
		return nil, err
	}
	s.files = nil
	for _, hash := range hashes {
		f := known[hash]
		if f.Version == 0 || f.Spec.JobID != s.Job {
			return compute.Fail{Reason: domain.Reason{Class: domain.ClassSystem, Code: domain.CodeBadFile, Message: fmt.Sprintf("%s is no file of %s", hash, s.Job)}}, nil
		}
		s.files = append(s.files, f)
	}
	return nil, nil
}

// End returns the command with which the entry ends, as its worker says, or because no job waits
// for it any more. If the job cannot be read, it is as the worker says: then the job looks at it.
func (s *Step) End(ctx context.Context, cmd compute.Command) compute.Command {
	if end, err := s.Over(ctx); err == nil && end != nil {
		return end
	}
	return cmd
}

// Over returns the command with which the entry ends because its job does not wait for it
// any more, nil = it may wait.
func (s *Step) Over(ctx context.Context) (compute.Command, error) {
	at, err := s.all.Jobs.Job(ctx, s.Job)
	s.job = at.State
	switch {
	case errors.Is(err, eventstore.ErrNotFound) || err == nil && !s.Waits(at.State):
		return compute.JobMoved(s.Job), nil
	default:
		return nil, err
	}
}

// OfJob returns the job as it was when it was last looked at.
func (s *Step) OfJob() domain.Job { return s.job }

// Files returns the files of the step, as it has begun them.
func (s *Step) Files() []domain.File { return s.files }

// Content opens the local copy of a file of the step. The error is a *[Damaged] if it is gone.
func (s *Step) Content(ctx context.Context, f domain.File) (*os.File, error) {
	file, err := s.all.Jobs.Open(ctx, f)
	return present(ctx, file, err)
}

// Copy copies the content of a file of the step into a new one, as [Attempt.Copy] does.
func (s *Step) Copy(ctx context.Context, f domain.File, name string) error {
	from, err := s.Content(ctx, f)
	if err != nil {
		return err
	}
	return copied(ctx, from, name, f.SHA256)
}
