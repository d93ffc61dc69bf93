package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Queue is a queue, how many jobs wait or are worked on in it, and its pause.
type Queue struct {
	ID      string       `json:"id"` // its name
	Name    string       `json:"queue"`
	Depth   int          `json:"jobs"` // of ingest: in all queues that are worked on
	Pause   *domain.Hold `json:"pause,omitempty"`
	Setting int64        `json:"setting_version"` // of its pause, for If-Match; 0 = it never was paused
}

// Queues lists ingest, which means all queues and batches, and then the queues in the
// order of the workflow.
func (a *App) Queues(ctx context.Context) (list []Queue, err error) {
	defer Explained(&err, "list queues")
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
	list = []Queue{{ID: domain.QueueIngest, Name: domain.QueueIngest}}
	for _, s := range domain.JobStates {
		q := Queue{ID: string(s), Name: string(s), Depth: now.Queues[s]}
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

// PauseQueue pauses a queue, named after a state of jobs, or ingest for all queues and
// batches: no new claims. Running work finishes; deposits are accepted.
func (a *App) PauseQueue(ctx context.Context, name, why string) (Changed, error) {
	c, err := a.changeHold(ctx, holdChange{"pause", domain.HoldQueue, name, &domain.Hold{}, why})
	c.add("no new claims there; running work finishes, and deposits are accepted")
	return c, err
}

// ResumeQueue ends the pause of a queue: workers claim from it again.
func (a *App) ResumeQueue(ctx context.Context, name, why string) (Changed, error) {
	return a.changeHold(ctx, holdChange{"resume", domain.HoldQueue, name, nil, why})
}
