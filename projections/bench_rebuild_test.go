package projections_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
)

// BenchmarkRebuild measures, in one run: what PostgreSQL takes when the same
// events are copied into the history and nothing else, and a rebuild of all
// tables, indexes included. Reading the log is measured in eventstore/jslog.
func BenchmarkRebuild(b *testing.B) {
	log := walks(b, 200_000)
	ctx := context.Background()
	for range b.N {
		b.StopTimer()
		db := projtest.DB(b)
		raw := perSecond(len(log), func() { copyHistory(b, db, log) })
		if _, err := db.Exec(ctx, "truncate accession.event"); err != nil {
			b.Fatal(err)
		}
		cfg := anew(db, log)
		cfg.Window = 0
		b.StartTimer()
		var done projections.Rebuilt
		all := perSecond(len(log), func() {
			var err error
			if done, err = projections.Rebuild(ctx, cfg); err != nil {
				b.Fatal(err)
			}
		})
		b.ReportMetric(raw, "copied/s")
		b.ReportMetric(float64(done.Events)/done.Took.Seconds(), "replayed/s")
		b.ReportMetric(all, "rebuilt/s")
		b.ReportMetric(float64(done.Events)/done.Took.Seconds()/raw, "replayed/copied")
	}
}

func perSecond(n int, do func()) float64 {
	began := time.Now()
	do()
	return float64(n) / time.Since(began).Seconds()
}

// copyHistory copies events into the history by the driver's own means.
func copyHistory(b *testing.B, db *pgxpool.Pool, log []domain.Recorded) {
	columns := []string{"epoch", "seq", "id", "type", "kind", "aggregate_id", "version", "batch_id", "actor", "command_id",
		"causation_id", "trace_parent", "zxid", "time", "stored", "data"}
	_, err := db.CopyFrom(context.Background(), pgx.Identifier{"accession", "event"}, columns, pgx.CopyFromSlice(len(log), func(i int) ([]any, error) {
		r := log[i]
		data, err := json.Marshal(r.Data)
		return []any{r.Epoch, int64(r.Seq), r.ID(), string(r.Type), string(r.Aggregate.Kind), r.Aggregate.ID, r.Version, string(r.BatchID),
			string(r.Actor), r.CommandID, r.CausationID, r.TraceParent, r.Zxid, r.Time.Time, r.Stored, json.RawMessage(data)}, err
	}))
	if err != nil {
		b.Fatal(err)
	}
}
