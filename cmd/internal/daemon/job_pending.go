package daemon

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
)

// jobPending looks for a hold and at the payload's manifest (J2, J4, J5). A
// manifest that cannot be reached is not corrupt: the job goes on, and fails where
// it can be requeued if it stays so.
func (s *steps) jobPending(ctx context.Context, t *JobTask) Outcome {
	p, out := s.profile(t)
	if out != nil {
		return *out
	}
	if why, err := s.held(ctx, p); err != nil {
		return handBack(err)
	} else if why != nil {
		return nextJob(domain.HoldJob{Reason: *why})
	}
	if fault := t.Job.Configuration.RowFault; fault != nil {
		return fail(*fault)
	}
	_, err := s.files(ctx, p, t)
	var why *problem
	switch {
	case err == nil:
	case errors.As(err, &why):
		return fail(why.Reason)
	case theirs(err):
		t.Log.Info("the manifest cannot be reached for now", "error", err)
	default:
		return s.trouble(err, "keep the manifest")
	}
	return nextJob(domain.AcceptJob{})
}

// profile gives the job's profile; a job whose profile is gone waits for it.
func (s *steps) profile(t *JobTask) (p Profile, out *Outcome) {
	p, err := s.cfg.Profiles.Get(t.Job.Configuration.ProfileName)
	if err != nil {
		o := wait(domain.Reason{Code: domain.CodeProfileUnknown, Message: err.Error() + "; put it back"}, asideDelay)
		return p, &o
	}
	return p, nil
}
