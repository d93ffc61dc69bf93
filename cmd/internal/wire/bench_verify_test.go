package wire

import (
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
)

// BenchmarkVerify measures a whole verify of log, tree and tables beside the reading of
// the same log in the same run.
func BenchmarkVerify(b *testing.B) {
	for range b.N {
		w := newBenchTables(b, lives(b, tabled))
		w.live(b)
		s := w.tree(b)
		read := w.perSecond(w.readDecoded(b))
		began, before := time.Now(), cputime.Now(b, os.Getpid())
		r, err := consistency.Verify(b.Context(), consistency.Config{
			Live: consistency.Live{Inspector: s, RingInspector: s, QueryInspector: s, EntryInspector: s, Layout: s, State: s, Entries: s, IDs: s}, Log: w.log, DB: w.db})
		if err != nil {
			b.Fatal(err)
		}
		verified, cost := w.perSecond(time.Since(began)), cputime.Now(b, os.Getpid()).Since(before)
		for _, f := range r.Findings[:min(len(r.Findings), 5)] {
			b.Errorf("%s", f)
		}
		b.ReportMetric(read, "read/s")
		b.ReportMetric(verified, "verified/s")
		b.ReportMetric(verified/read, "verified/read")
		b.ReportMetric(cputime.Per(cost.Ours, tabled), "ours-us/event")
		b.ReportMetric(cputime.Per(cost.ZooKeeper, tabled), "zookeeper-us/event")
		b.ReportMetric(cputime.Per(cost.Postgres, tabled), "postgres-us/event")
		b.ReportMetric(0, "ns/op")
	}
}

// tree makes the tree that the log leaves.
func (w *benchTables) tree(b *testing.B) *zklive.Store {
	b.Helper()
	root := "/test-" + uuid.NewString()
	removedAfter(b, root)
	s, err := zklive.Open(b.Context(), zklive.Config{Servers: []string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, Root: root, Restoring: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	h, err := consistency.FoldAll(b.Context(), w.log, nil)
	if err == nil {
		err = s.Restore(b.Context(), h, nil)
	}
	if err == nil {
		err = s.Restored(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}
