package app

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
)

// What a check of the three servers finds; see package consistency.
type (
	// Finding is one thing that is not as it should be.
	Finding = consistency.Finding
	// VerifyProgress tells how far a check is.
	VerifyProgress = consistency.Progress
)

// How bad a finding is.
const (
	Repairable  = consistency.Repairable
	NeedsPerson = consistency.Person
)

// VerifyOptions say how to check.
type VerifyOptions struct {
	// Wait is how long what is ahead of the log, or behind it in the tables, is
	// waited for. OutboxLimit is how long an event may take to the log.
	Wait, OutboxLimit time.Duration
	// Progress is told how far the check is; nil = nobody.
	Progress func(VerifyProgress)
}

// Verified is what a check found, and what became of the repairs if they were asked
// for.
type Verified struct {
	consistency.Report
	Worst   consistency.Severity  `json:"worst"` // "" = nothing was found, or is left
	DryRun  bool                  `json:"dry_run,omitempty"`
	Repairs []consistency.Outcome `json:"repairs,omitempty"`
}

// Verify folds the log and compares it with ZooKeeper, the tables and the working
// directories, while work goes on. Differences are no error; not being able to
// check is one.
func (a *App) Verify(ctx context.Context, o VerifyOptions) (Verified, error) {
	cfg, err := a.verifyConfig(ctx, o)
	if err != nil {
		return Verified{}, explain("verify", err)
	}
	r, err := consistency.Verify(ctx, cfg)
	return Verified{Report: r, Worst: r.Worst()}, explain("verify", err)
}

// Repair makes a check and puts right what can be put right without a person, each
// thing by a write of its own with an event of its own; with DryRun it tells what it
// would do. What has changed meanwhile is left. Another check tells what remains.
func (a *App) Repair(ctx context.Context, o VerifyOptions) (Verified, error) {
	v, err := a.Verify(ctx, o)
	if err != nil {
		return v, err
	}
	v.DryRun = a.DryRun
	cfg, err := a.verifyConfig(ctx, o)
	if err != nil {
		return v, explain("repair", err)
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return v, explain("repair", err)
	}
	if v.Repairs, err = consistency.Repair(ctx, cfg, handler, v.Findings, a.order()); err != nil || a.DryRun {
		return v, explain("repair", err)
	}
	left, err := a.Verify(ctx, o)
	v.Worst = left.Worst
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
