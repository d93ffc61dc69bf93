package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/daemon/space"
	"github.com/accession-ingest/accession/domain"
)

// jobProvisioning promises working space (J7), or lets the job wait. Each waiting
// job is tried again after the cycle time, so that a large one does not block small
// ones. What can never fit fails (J24).
func (s *steps) jobProvisioning(ctx context.Context, t *JobTask) Outcome {
	work, err := s.Work(t.Profile)
	if err != nil {
		return s.errorOutcome(err, "open the working directory")
	}
	a, err := s.space.Ask(ctx, t.Job, t.Profile.WorkingDir, s.cfg.SpaceReserve, work.Free)
	if errors.Is(err, space.ErrUncounted) {
		return release(err)
	}
	if err != nil {
		return s.errorOutcome(err, "look for free space")
	}
	if a.OK {
		t.term = a.Term
		return nextJob(domain.ProvisionJob{})
	}
	if a.Term == nil { // the lead was lost meanwhile
		return release(nil)
	}
	need := t.Job.SpaceNeeded
	total, err := work.Total()
	if err != nil {
		return s.errorOutcome(err, "look for space")
	}
	if most := max(total-s.cfg.SpaceReserve, 0); need > most {
		return fail(domain.Reason{Class: domain.ClassContent, Code: domain.CodeSpaceNever,
			Message: fmt.Sprintf("the job needs %d bytes of working space, and there are never more than %d: split the object, or ask the operators for more", need, most)})
	}
	return wait(a.Short(need, s.cfg.SpaceReserve), s.cfg.SpaceCycle)
}

// provision runs the workers of provisioning while this process is its leader.
func (r *Runner) provision(ctx, work context.Context, d Daemon) {
	for ctx.Err() == nil {
		lead, resign, err := r.steps.space.Lead(ctx)
		if err != nil {
			r.failed(ctx, err, "cannot lead provisioning; trying again")
			continue
		}
		r.cfg.Log.Info("leads provisioning")
		var workers sync.WaitGroup
		for range r.cfg.Workers[d.Name] {
			workers.Go(func() { r.serve(lead, work, d) })
		}
		workers.Wait()
		resign()
	}
}

// Notice takes an event read from the log.
func (r *Runner) Notice(e domain.Recorded) {
	r.steps.space.Notice(e)
	r.running.Notice(e)
	for _, id := range r.steps.order.Notice(e) {
		r.cfg.Claims.Wake(context.Background(), id)
	}
}
