package e2e

import (
	"context"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/projections/query"
)

// proven fails the test unless the log is whole, and ZooKeeper, the fold of the
// log and the tables agree; and unless claims and changes were in order all the
// while. Everything must be at rest and projected.
func (in *installation) proven() {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	defer cancel()
	last := map[domain.Aggregate]int64{}
	for r, err := range in.log.Read(ctx, eventstore.ReadOptions{}) {
		in.must(err)
		if r.Version != last[r.Aggregate]+1 {
			in.t.Errorf("the log has %s after number %d of that aggregate", r.ID(), last[r.Aggregate])
		}
		cause := domain.Event{Aggregate: r.Aggregate, Version: r.Version - 1}.ID()
		if r.Type == domain.EventJobDeleted { // with its batch
			cause = domain.Event{Aggregate: r.BatchID.Aggregate(), Version: last[r.BatchID.Aggregate()]}.ID()
		}
		if r.Aggregate.Kind == domain.KindJob && r.Version > 1 && strings.HasPrefix(string(r.Actor), "daemon/") && r.CausationID != cause {
			in.t.Errorf("%s says it was caused by %q, not by %s", r.ID(), r.CausationID, cause)
		}
		last[r.Aggregate] = r.Version
	}
	for a, version := range last {
		in.must(query.NewWaiter(in.db).For(ctx, a, version))
	}
	found, err := differences(ctx, in.live, in.log, in.db)
	in.must(err)
	for _, d := range found {
		in.t.Errorf("difference: %s", d)
	}
	in.linearizable(ctx)
	in.apart(ctx)
}

// differences returns what differs between the three servers of a system at rest.
func differences(ctx context.Context, live *zklive.Store, log eventstore.Log, db query.DB) ([]consistency.Finding, error) {
	r, err := consistency.Verify(ctx, consistency.Config{Live: consistency.Live{Inspector: live, RingInspector: live, QueryInspector: live, EntryInspector: live, Layout: live, State: live, Entries: live, IDs: live}, Log: log, DB: db, Wait: 2 * time.Second})
	return r.Findings, err
}

// agree fails the test unless log, ZooKeeper and PostgreSQL hold the same. The
// janitor may still be cleaning up: it is waited for, by comparing until the log
// stands still between two comparisons.
func (in *installation) agree() {
	in.t.Helper()
	ctx := in.ctx()
	live, err := in.wired.LiveState(ctx)
	in.must(err)
	log, err := in.wired.Log(ctx)
	in.must(err)
	db, err := in.wired.DB(ctx)
	in.must(err)
	for {
		in.must(in.app.CatchUp(ctx))
		before, err := log.Info(ctx)
		in.must(err)
		found, err := differences(ctx, live.Store, log, db)
		in.must(err)
		after, err := log.Info(ctx)
		in.must(err)
		if len(found) == 0 || before.Last == after.Last {
			for _, d := range found {
				in.t.Error(d)
			}
			return
		}
	}
}
