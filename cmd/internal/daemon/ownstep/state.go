package ownstep

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/outside"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
)

// Leave requests the work of the state in which a job is, which the profile leaves to workers
// outside, and says where it stands. A result that is none fails the job.
func (m Maker) Leave(ctx context.Context, j domain.Job, p profile.Profile, o profile.Outside, actor domain.Actor) (s Standing, err error) {
	state := compute.StateStep(j)
	step := profile.Step{Name: string(j.State), Dataset: compute.StateDataset(j.State), Priority: o.Priority, Timeout: o.Timeout}
	e, err := m.request(ctx, state, p, step, []string{state.JobInput()}, actor)
	if err == nil {
		s, err = m.look(ctx, s, j, step, e, nil)
	}
	if err != nil {
		return s, fmt.Errorf("leave %s to workers outside: %w", j.State, err)
	}
	if len(s.Results) > 0 {
		if err := outside.Check(state, s.Results[0].Result); err != nil {
			s = Standing{Failed: &domain.Reason{Class: domain.ClassSystem, Code: outside.CodeResultInvalid, Message: fmt.Sprintf("%s: %v", j.State, err)}}
		}
	}
	return s, nil
}
