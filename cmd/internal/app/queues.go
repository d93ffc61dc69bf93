package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Queue is a queue, how many jobs wait or are worked on in it, and its pause.
type Queue struct {
	Name  string       `json:"queue"`
	Depth int          `json:"jobs"` // of ingest: in all queues that are worked on
	Pause *domain.Hold `json:"pause"`
}

// Queues lists ingest, which stands for all, and then the queues in the order of
// the workflow.
func (a *App) Queues(ctx context.Context) ([]Queue, error) {
	list, err := a.queues(ctx)
	return notNil(list), explain("list queues", err)
}

func (a *App) queues(ctx context.Context) ([]Queue, error) {
	live, err := a.Open.Live(ctx)
	if err != nil {
		return nil, err
	}
	holds, err := live.Holds(ctx)
	if err != nil {
		return nil, err
	}
	now, err := live.Overview(ctx)
	if err != nil {
		return nil, err
	}
	list := []Queue{{Name: domain.QueueIngest}}
	for _, s := range domain.JobStates {
		q := Queue{Name: string(s), Depth: now.Queues[s]}
		if s.Worked() {
			list[0].Depth += q.Depth
		}
		list = append(list, q)
	}
	for i := range list {
		if h, paused := holds.Queues[list[i].Name]; paused {
			list[i].Pause = &h
		}
	}
	return list, nil
}

// PauseQueue stops every claim in a queue: the state of jobs that it is named
// after, or ingest for all queues and batches. Work under way ends; deposits are
// taken in.
func (a *App) PauseQueue(ctx context.Context, name, why string) (Changed, error) {
	c, err := a.changeHold(ctx, "pause", domain.HoldQueue, name, &domain.Hold{}, why)
	if err != nil {
		return c, err
	}
	c.add("nothing more is begun there; what is under way ends, and deposits are taken in")
	return c, nil
}

// ResumeQueue ends the pause of a queue: work goes on by itself.
func (a *App) ResumeQueue(ctx context.Context, name, why string) (Changed, error) {
	return a.changeHold(ctx, "resume", domain.HoldQueue, name, nil, why)
}
