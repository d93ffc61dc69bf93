package wire

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/compute"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/ready"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// ComputeLeader returns the leader of the compute queue.
func (in *Installation) ComputeLeader(ctx context.Context) (*compute.Leader, error) {
	l := &compute.Leader{Retention: compute.Retention, Log: in.log.With("role", "compute")}
	var live *LiveState
	if err := openAll(ctx, into(&live, in.LiveState), into(&l.Handler, in.Handler), into(&l.Attempts, in.attempts)); err != nil {
		return nil, err
	}
	l.Lead = func(ctx context.Context) (context.Context, func(), error) { return live.LeadRole(ctx, "compute") }
	return l, nil
}

// attempts returns what makes the attempts at files.
func (in *Installation) attempts(ctx context.Context) (*attempt.Attempts, error) {
	all := &attempt.Attempts{Actor: domain.DaemonActor(compute.Name), Limits: func(ctx context.Context, profile string) (domain.Limits, error) {
		limits, err := in.fileLimits(ctx)
		return limits.Of(profile).Processing, err
	}}
	var work *store.Work
	err := openAll(ctx, into(&all.Files, in.FileHandler), into(&work, in.Work))
	if err == nil {
		all.Contents = work.Local()
	}
	return all, err
}

// Requester returns what lets files that are ready wait for workers.
func (in *Installation) Requester(ctx context.Context) (*compute.Requester, error) {
	r := &compute.Requester{Interval: in.cfg.ReadyInterval, Log: in.log.With("role", ready.Name)}
	var live *LiveState
	var db query.DB
	err := openAll(ctx, into(&r.Handler, in.Handler), into(&r.Files, in.FileHandler), into(&live, in.LiveState), into(&db, in.DB))
	r.Tables, r.Rules = compute.ReadyOf{DB: db}, rulesFrom(live)
	return r, err
}

// ComputeWorker opens what a worker of the compute queue needs. Its inputs are fetched under
// the rules of a profile, "" = of none.
func (in *Installation) ComputeWorker(ctx context.Context, w *compute.Worker, profileName string) error {
	var client *fetch.Client
	var records *record.Records
	if err := openAll(ctx, into(&w.Handler, in.Handler), into(&client, in.client), into(&records, in.Records), into(&w.Attempts, in.attempts)); err != nil {
		return err
	}
	if profileName != "" {
		var set *profile.Set
		if err := openAll(ctx, into(&set, in.profileSet)); err != nil {
			return err
		}
		p, err := set.Get(profileName)
		if err != nil {
			return err
		}
		policy, err := fetch.PolicyOf(p.Fetch.Allow, time.Duration(p.Fetch.Timeout), int64(p.Fetch.MinRate))
		if err != nil {
			return err
		}
		client = client.With(policy)
	}
	w.Inputs, w.Records, w.Log = client, records, in.log.With("role", "compute")
	return nil
}
