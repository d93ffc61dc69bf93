package daemon

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// identify settles the identifier of the job's object: the depositor's, the one that
// its local ids lead to, or a new one, which is reserved under the job's id before
// anything else. It is written to the job at once, so that a repeated step does not
// mint another one.
func (s *steps) identify(ctx context.Context, t *JobTask) error {
	ids, p := t.Job.Identifiers, t.Profile
	if ids.Primary != "" {
		ark, err := mint.Parse(ids.Primary)
		if err != nil {
			return err
		}
		return s.settle(ctx, t, ark.String(), false)
	}
	known, err := s.cfg.Records.LookupLocalID(ctx, p.Owner, ids.LocalID)
	if err != nil {
		return err
	}
	if known != "" {
		return s.settle(ctx, t, known, false)
	}
	name, err := mint.Minter{NAAN: p.Identifier.NAAN, Shoulder: p.Identifier.Shoulder}.Derive(string(t.Job.ID))
	if err != nil {
		return err
	}
	reserved, err := effect("processing/reserve-identifier", func() (record.Identifier, error) {
		return s.cfg.Records.ReserveIdentifier(ctx, t.Job.ID, name)
	})
	if err != nil {
		return err
	}
	return s.settle(ctx, t, reserved.Name, true)
}

// settle binds the local ids to the identifier and writes it to the job. Another job
// may have bound them meanwhile: then that job's identifier is used, and a minted one
// stays unused.
func (s *steps) settle(ctx context.Context, t *JobTask, primary string, minted bool) error {
	ids := t.Job.Identifiers
	bound, err := effect("processing/bind-local-id", func() (string, error) {
		return s.cfg.Records.BindLocalID(ctx, t.Profile.Owner, ids.LocalID, primary, t.Job.ID)
	})
	if err != nil {
		return err
	}
	if bound != primary && !minted {
		return reason.Content(reason.CodeIdentifierMismatch, "the local ids %q lead to %s, the deposit names %s: correct the one that is wrong",
			ids.LocalID, bound, primary)
	}
	minted = minted && bound == primary
	if ids.Primary != bound {
		ids.Primary = bound
		err := crash.Around("daemon/processing/identify", func() error { return t.Keep(ctx, domain.IdentifyJob{Identifiers: ids, Minted: minted}) })
		if err != nil {
			return fmt.Errorf("write the identifier to the job: %w", err)
		}
	}
	if minted {
		return s.cfg.Records.ConfirmIdentifier(ctx, t.Job.ID, bound)
	}
	return nil
}
