package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// jobProvisioning promises working space (J7), or lets the job wait. Each waiting
// job is looked at again after the cycle time, so that a large one does not stand
// in the way of small ones.
func (s *steps) jobProvisioning(ctx context.Context, t *JobTask) Outcome {
	p, out := s.profile(t)
	if out != nil {
		return *out
	}
	work, err := s.work(p)
	if err != nil {
		return s.trouble(err, "open the working directory")
	}
	free, err := work.Free()
	if err != nil {
		return s.trouble(err, "look for free space")
	}
	need, dir := t.Job.SpaceNeeded, s.workingRoot(p)
	ok, left := s.space.ask(t.Job.ID, dir, need, free, s.cfg.SpaceReserve)
	if !ok {
		s.forgetPromises(ctx)
		ok, left = s.space.ask(t.Job.ID, dir, need, free, s.cfg.SpaceReserve)
	}
	if ok {
		return nextJob(domain.ProvisionJob{})
	}
	msg := fmt.Sprintf("the job needs %d bytes of working space; %d are free, of which %d stay in reserve and %d can be promised",
		need, free, s.cfg.SpaceReserve, max(left, 0))
	if need == 0 {
		msg = fmt.Sprintf("the job's size is unknown and only %d bytes of working space are free: it waits until there are %d", free, s.cfg.SpaceReserve)
	}
	return wait(domain.Reason{Code: domain.CodeSpaceShort, Message: msg}, s.cfg.SpaceCycle)
}

// forgetPromises ends promises to jobs that are not downloading any more, or that
// another process downloaded.
func (s *steps) forgetPromises(ctx context.Context) {
	for _, id := range s.space.jobs() {
		at, err := s.live.Job(ctx, id)
		if errors.Is(err, eventstore.ErrNotFound) || err == nil && at.State.State != domain.JobDownloading && at.State.State != domain.JobProvisioning {
			s.space.free(id)
		}
	}
}
