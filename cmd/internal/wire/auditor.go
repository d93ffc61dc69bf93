package wire

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/audit"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/replica"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// Auditor returns the auditor, which reads all stored objects from time to time.
func (in *Installation) Auditor(ctx context.Context) (*audit.Auditor, error) {
	var log eventstore.Log
	var files *files.Handler
	var records *record.Records
	var at *stores
	var profiles *profile.Set
	if err := openAll(ctx, into(&log, in.Log), into(&files, in.FileHandler), into(&records, in.Records), into(&at, in.allStores), into(&profiles, in.profileSet)); err != nil {
		return nil, err
	}
	logger := in.log.With("role", "auditor")
	copies := replica.Keeper{Records: records, Open: at.At, Log: logger}
	return &audit.Auditor{Files: files, Restore: in.restoreRows, Interval: in.cfg.AuditInterval, Log: logger,
		Pending: &replica.Pending{Keeper: copies, All: records, Profiles: profiles, From: at.ProfileStore},
		Config:  audit.Config{Servers: consistency.Config{Log: log}, Records: records, Stores: at, Profiles: profiles, Replicas: copies, Rate: int64(in.cfg.AuditRate)}}, nil
}

// restoreRows makes missing rows of the inventory again, as `verify --repair` does, unless a
// server was put back to an older copy since the process has opened it.
func (in *Installation) restoreRows(ctx context.Context, missing []consistency.Finding) error {
	if err := in.compareCopies(ctx); err != nil {
		return err
	}
	h, err := in.Handler(ctx)
	if err != nil {
		return err
	}
	live, err := in.Inspect(ctx)
	if err != nil {
		return err
	}
	return consistency.RepairRows(ctx, consistency.Config{Live: live}, h, missing, eventstore.Meta{Actor: audit.Actor})
}
