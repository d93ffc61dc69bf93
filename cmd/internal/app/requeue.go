package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Changed says what a command left behind: the aggregate, its version (a reader
// may wait for it) and its state.
type Changed struct {
	Subject string `json:"subject"`
	Version int64  `json:"version"`
	State   string `json:"status"`
	Row     string `json:"row"` // of the transition table
}

// Requeue sends a failed job back to the state that it failed in (J16 to J19).
func (a *App) Requeue(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	handler, err := a.World.Handler(ctx)
	if err != nil {
		return Changed{}, explain("requeue "+string(id), err)
	}
	res, err := handler.Job(ctx, id, domain.RequeueJob{Reason: because(why)}, a.order())
	if err != nil {
		return Changed{}, explain("requeue "+string(id), err)
	}
	return Changed{Subject: id.Aggregate().String(), Version: res.State.Version, State: string(res.State.State), Row: res.Row}, nil
}

// RequestUpdate asks for a second report of a failed batch, once its requeued jobs
// have ended (B8).
func (a *App) RequestUpdate(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	handler, err := a.World.Handler(ctx)
	if err != nil {
		return Changed{}, explain("update-report "+string(id), err)
	}
	res, err := handler.Batch(ctx, id, domain.RequestUpdate{Reason: because(why)}, a.order())
	if err != nil {
		return Changed{}, explain("update-report "+string(id), err)
	}
	return Changed{Subject: id.Aggregate().String(), Version: res.State.Version, State: string(res.State.State), Row: res.Row}, nil
}

// because gives an operator's reason, nil when none was told.
func because(why string) *domain.Reason {
	if why == "" {
		return nil
	}
	return &domain.Reason{Class: domain.ClassWait, Code: "requested", Message: why}
}
