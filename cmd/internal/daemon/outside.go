package daemon

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/cmd/internal/daemon/ownstep"
	"github.com/accession-ingest/accession/domain"
)

func (s *steps) maker() ownstep.Maker {
	return ownstep.Maker{Handler: s.cfg.Handler, Records: s.cfg.Records, Order: s.order}
}

// leave returns the outcome of a job whose state is left to workers outside, nil = go on with it.
func (s *steps) leave(ctx context.Context, t *JobTask) *Outcome {
	o, is := t.Profile.LeavesOut(t.Job.State)
	if is && t.Job.State == domain.JobPending {
		why, err := s.held(ctx, t.Profile)
		is = why == nil && err == nil && t.Job.Configuration.RowFault == nil
	}
	if !is {
		return nil
	}
	at, err := s.maker().Leave(ctx, t.Job, t.Profile, o, t.actor)
	if at.Failed != nil && t.Job.State == domain.JobEstimating {
		t.Log.Info("no worker outside has estimated it, so its size is unknown", "reason", at.Failed.Message)
		return &Outcome{job: domain.EstimateJob{Unknown: 1, Priority: t.Profile.Priority.ForEstimate(t.Job.Priority, 0, 1)}}
	}
	return s.awaits(t, at, err, "leave it to workers outside")
}

// awaits returns the outcome of a job for which workers of the compute queue work, nil = all
// that they were asked for has a result.
func (s *steps) awaits(t *JobTask, is ownstep.Standing, err error, doing string) *Outcome {
	t.results = is.Results
	var out Outcome
	switch {
	case err != nil:
		out = s.errorOutcome(err, doing)
	case is.Failed != nil:
		out = fail(*is.Failed)
	case is.Before != (order.Before{}):
		out = wait(is.Before.Reason(), is.Delay)
		out.before = is.Before
	default:
		return nil
	}
	return &out
}
