package app

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
)

// Types of package consistency.
type (
	// Finding is one difference.
	Finding = consistency.Finding
	// VerifyProgress says how far a check is.
	VerifyProgress = consistency.Progress
)

// The severities of findings.
const (
	Repairable  = consistency.Repairable
	NeedsPerson = consistency.Person
)

// VerifyOptions say how to check.
type VerifyOptions struct {
	// Wait is how long to wait until the log has the events of the live state, and the
	// tables those of the log. OutboxLimit is how long an event may stay in the outbox.
	Wait, OutboxLimit time.Duration
	// Progress is called with the progress of the check; nil = no calls.
	Progress func(VerifyProgress)
}

// Verified is what a check found, and the results of repairs if they were requested.
type Verified struct {
	consistency.Report
	Worst   consistency.Severity  `json:"worst"` // "" = nothing was found, or is left
	DryRun  bool                  `json:"dry_run,omitempty"`
	Repairs []consistency.Outcome `json:"repairs,omitempty"`
}

// Verify folds the log and compares it with ZooKeeper, the tables and the working
// directories, while the service runs. Differences are not an error; a check that
// cannot be made is one.
func (a *App) Verify(ctx context.Context, o VerifyOptions) (v Verified, err error) {
	defer explained(&err, "verify")
	cfg, err := a.verifyConfig(ctx, o)
	if err != nil {
		return v, err
	}
	v.Report, err = consistency.Verify(ctx, cfg)
	v.Worst = v.Report.Worst()
	return v, err
}

// Repair verifies, and repairs each finding that can be repaired automatically by a
// write with an event; with DryRun it returns what it would do. It skips what has
// changed meanwhile, and verifies again afterwards.
func (a *App) Repair(ctx context.Context, o VerifyOptions) (v Verified, err error) {
	defer explained(&err, "repair")
	cfg, err := a.verifyConfig(ctx, o)
	if err != nil {
		return v, err
	}
	if v.Report, err = consistency.Verify(ctx, cfg); err != nil {
		return v, err
	}
	v.Worst, v.DryRun = v.Report.Worst(), a.DryRun
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return v, err
	}
	if v.Repairs, err = consistency.Repair(ctx, cfg, handler, v.Findings, a.meta()); err != nil || a.DryRun {
		return v, err
	}
	left, err := consistency.Verify(ctx, cfg)
	v.Worst = left.Worst()
	return v, err
}

func (a *App) verifyConfig(ctx context.Context, o VerifyOptions) (cfg consistency.Config, err error) {
	cfg = consistency.Config{Wait: o.Wait, OutboxLimit: o.OutboxLimit, Progress: o.Progress, WorkDirs: a.Open.WorkDirs}
	if cfg.Live, err = a.Open.Inspect(ctx); err != nil {
		return cfg, err
	}
	if cfg.Log, err = a.Open.Log(ctx); err != nil {
		return cfg, err
	}
	cfg.DB, err = a.Open.DB(ctx)
	return cfg, err
}
