package withdrawal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/audit"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Remover removes the content of objects whose withdrawal is approved: from all stores, then
// the history of each file says it, then it is kept that nothing is left to do. A process that
// dies in between leaves the withdrawal approved, and the next one begins again: each step
// changes nothing the second time.
type Remover struct {
	App *app.App
	Log *slog.Logger
}

// Actor writes the events of the remover.
const Actor = "daemon/withdrawals"

const (
	look      = time.Second
	maxPause  = time.Minute
	atOnce    = 20
	fileAPage = 500
)

// Run removes until ctx ends.
func (r *Remover) Run(ctx context.Context) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: look, Multiplier: 2, RandomizationFactor: 0.2, MaxInterval: maxPause}
	for {
		pause := look
		if err := r.Once(ctx); err != nil && ctx.Err() == nil {
			pause = pauses.NextBackOff()
			r.Log.Warn("the removal of withdrawn objects is tried again later", "error", err, "pause", pause)
		} else {
			pauses.Reset()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once removes what is to be removed now, unless another process does. While it does, no
// process copies to replicas what is pending. An object that cannot be removed now does not
// stop the others.
func (r *Remover) Once(ctx context.Context) error {
	records, err := r.App.Open.Records(ctx)
	if err != nil {
		return err
	}
	all, err := records.ApprovedWithdrawals(ctx, atOnce)
	if err != nil || len(all) == 0 {
		return err
	}
	release, leads, err := records.LeadReplicas(ctx)
	if err != nil || !leads {
		return err
	}
	defer release()
	stores, err := r.App.Open.VerifyConfig(ctx, audit.Options{})
	if err != nil {
		return err
	}
	var failed error
	for _, w := range all {
		if err := r.remove(ctx, records, stores, w); err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove the content of %s: %w", w.PrimaryIdentifier, err))
		}
	}
	return failed
}

func (r *Remover) remove(ctx context.Context, records *record.Records, at audit.Config, w record.Withdrawal) error {
	versions, err := records.ObjectVersions(ctx, w.PrimaryIdentifier, "", 1<<20)
	if err != nil {
		return err
	}
	all, err := holders(ctx, records, at, w, versions)
	if err != nil {
		return err
	}
	removed := 0
	for _, s := range all {
		err := crash.Around("withdrawal/content/remove", func() error {
			n, err := s.RemoveContent(ctx, w.PrimaryIdentifier)
			removed += n
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := r.App.Open.CaughtUp(ctx); err != nil {
		return err
	}
	for _, v := range versions {
		if err := crash.Around("withdrawal/history/write", func() error { return r.note(ctx, w, domain.JobID(v.JobID)) }); err != nil {
			return err
		}
	}
	if err := records.WithdrawalRemoved(ctx, w); err != nil {
		return err
	}
	r.Log.Info("a withdrawn object was removed", "object", w.PrimaryIdentifier, "files", removed, "requested_by", w.RequestedBy, "approved_by", w.DecidedBy)
	return nil
}

// holders returns the stores that may have content of an object: those of profiles, the replicas
// that the profiles of its versions name, and those that are known to have copies.
func holders(ctx context.Context, records *record.Records, at audit.Config, w record.Withdrawal, versions []record.FoundVersion) ([]*store.Store, error) {
	all, err := at.Stores.AllStores(ctx)
	if err != nil {
		return nil, err
	}
	locations := map[string]bool{}
	copies, err := records.ReplicasOf(ctx, w.PrimaryIdentifier)
	if err != nil {
		return nil, err
	}
	for _, c := range copies {
		locations[c.Location] = true
	}
	for _, v := range versions {
		if of, err := at.Profiles.Get(v.ProfileName); err == nil { // one that is gone names none
			for _, l := range of.Replicas {
				locations[l] = true
			}
		}
	}
	for l := range locations {
		s, err := at.Stores.At(ctx, l)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// note writes into the histories of a job's files that what was stored of them is gone, and who
// wanted it. Those whose state does not allow it have it already, or were given up before.
func (r *Remover) note(ctx context.Context, w record.Withdrawal, job domain.JobID) error {
	db, err := r.App.Open.DB(ctx)
	if err != nil {
		return err
	}
	handler, err := r.App.Open.FileHandler(ctx)
	if err != nil {
		return err
	}
	why := domain.Reason{Class: domain.ClassCancelled, Code: record.CodeObjectWithdrawn,
		Message: fmt.Sprintf("%s was withdrawn: %s (requested by %s, approved by %s)", w.PrimaryIdentifier, w.Reason, w.RequestedBy, w.DecidedBy)}
	for after := domain.FileHash(""); ; {
		rows, err := query.Files(ctx, db, query.FileFilter{Job: job, After: after, Limit: fileAPage})
		if err != nil || len(rows) == 0 {
			return err
		}
		asks := make([]files.Request, len(rows))
		for i, row := range rows {
			after = domain.FileHash(row.RawFileHash)
			asks[i] = files.Request{Hash: after, Command: domain.FailOutput{Reason: why}}
		}
		results, err := handler.All(ctx, asks, eventstore.Meta{Actor: Actor, TraceParent: eventstore.NewTrace().Parent()})
		if err != nil {
			return err
		}
		for _, done := range results {
			if _, refused := errors.AsType[*domain.Refused](done.Err); done.Err != nil && !refused {
				return done.Err
			}
		}
	}
}
