package projections_test

import (
	"errors"
	"testing"

	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// TestTablesReplacedUnderAReader: who reads at one moment while a rebuild swaps the
// tables is told, for the new ones were not there at that moment.
func TestTablesReplacedUnderAReader(t *testing.T) {
	t.Parallel()
	w, id, _ := story(t)
	db, ctx := projected(t, w), t.Context()
	s, err := query.OpenSnapshot(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	if _, err := query.Summary(ctx, s, id); err != nil {
		t.Fatal(err)
	}
	if err := s.Unchanged(ctx); err != nil {
		t.Fatal(err)
	}
	cfg := anew(db, w.log)
	cfg.KeepOld = true // to drop them waits for the reader
	if _, err := rebuild.Run(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range query.Rows(ctx, s, query.BatchJobs(ctx, s, id)) {
		last = err
	}
	if !errors.Is(last, query.ErrReplaced) {
		t.Errorf("behind the last row: %v", last)
	}
}

// TestReaderThatStandsStill: the tables are not held for whoever reads no more.
func TestReaderThatStandsStill(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.DB(t), t.Context()
	s, err := query.OpenSnapshot(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	var limit string
	var pid int
	if err := s.QueryRow(ctx, "select current_setting('idle_in_transaction_session_timeout'), pg_backend_pid()").Scan(&limit, &pid); err != nil || limit != "5min" {
		t.Fatalf("the limit is %s, %v", limit, err)
	}
	if _, err := s.Exec(ctx, "set local idle_in_transaction_session_timeout = '1ms'"); err != nil {
		t.Fatal(err)
	}
	for there := 1; there > 0; {
		if err := db.QueryRow(ctx, "select count(*) from pg_stat_activity where pid = $1", pid).Scan(&there); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Unchanged(ctx); !errors.Is(err, query.ErrIdle) {
		t.Errorf("the next question: %v", err)
	}
}
