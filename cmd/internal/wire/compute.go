package wire

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/compute"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
)

// ComputeLeader returns the leader of the compute queue.
func (in *Installation) ComputeLeader(ctx context.Context) (*compute.Leader, error) {
	l := &compute.Leader{Retention: compute.Retention, Log: in.log.With("role", "compute")}
	var live *LiveState
	if err := openAll(ctx, into(&live, in.LiveState), into(&l.Handler, in.Handler)); err != nil {
		return nil, err
	}
	l.Lead = func(ctx context.Context) (context.Context, func(), error) { return live.LeadRole(ctx, "compute") }
	return l, nil
}

// ComputeWorker opens what a worker of the compute queue needs. Its inputs are fetched under
// the rules of a profile, "" = of none.
func (in *Installation) ComputeWorker(ctx context.Context, w *compute.Worker, profileName string) error {
	var client *fetch.Client
	var records *record.Records
	if err := openAll(ctx, into(&w.Handler, in.Handler), into(&client, in.client), into(&records, in.Records)); err != nil {
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
