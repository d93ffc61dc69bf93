package app

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/audit"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
)

// The severities of findings.
const (
	Repairable  = consistency.Repairable
	NeedsPerson = consistency.Person
)

// Finding is a difference that a check found.
type Finding = consistency.Finding

// VerifyProgress is how far a check is.
type VerifyProgress = consistency.Progress

// VerifyOptions are what a check is asked.
type VerifyOptions = audit.Options

// ObjectRange is a part of all objects, in the order of their identifiers.
type ObjectRange = audit.Range

// Verified is what a check found, and the results of repairs if they were requested.
type Verified struct {
	audit.Result
	DryRun  bool                  `json:"dry_run,omitempty"`
	Repairs []consistency.Outcome `json:"repairs,omitempty"`
}

// Verify folds the log and compares it with ZooKeeper, the tables, the inventory, the
// object stores and the working directories, while the service runs. Differences are
// not an error; a check that cannot be made is one.
func (a *App) Verify(ctx context.Context, o VerifyOptions) (v Verified, err error) {
	defer Explained(&err, "verify")
	cfg, err := a.Open.VerifyConfig(ctx, o)
	if err != nil {
		return v, err
	}
	v.Result, err = audit.Verify(ctx, cfg)
	return v, err
}

// Repair verifies, and repairs each finding that can be repaired automatically by a
// write with an event; with DryRun it returns what it would do. It skips what has
// changed meanwhile, and verifies again afterwards.
func (a *App) Repair(ctx context.Context, o VerifyOptions) (v Verified, err error) {
	defer Explained(&err, "repair")
	cfg, err := a.Open.VerifyConfig(ctx, o)
	if err != nil {
		return v, err
	}
	if v.Result, err = audit.Verify(ctx, cfg); err != nil {
		return v, err
	}
	v.DryRun = a.DryRun
	handler, err := a.Open.Repairer(ctx)
	if err != nil {
		return v, err
	}
	if v.Repairs, err = consistency.Repair(ctx, cfg.Servers, handler, v.Findings, a.Meta()); err != nil || a.DryRun {
		return v, err
	}
	v.Worst, err = audit.Left(ctx, cfg, v.Findings)
	return v, err
}
