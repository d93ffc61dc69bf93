package app

import (
	"context"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// HoldJob parks a pending job until it is released (J2).
func (a *App) HoldJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		why = "held by " + string(a.Actor)
	}
	return a.changeJob(ctx, "hold", id, domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator, Message: why}})
}
