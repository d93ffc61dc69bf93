package projections_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// interrupted makes a projector that lets somebody else work on the tables between
// the transactions of two events.
func interrupted(cfg projections.Config, before uint64, work func()) projections.Config {
	source, applied := cfg.Source, make(chan struct{})
	cfg.Applied = func(a projections.Applied) {
		if a.Seq == before-1 {
			close(applied)
		}
	}
	cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range source(ctx, from) {
				if r.Seq == before && from < before {
					<-applied
					work()
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	cfg.MaxBatch, cfg.RetryDelay = 10, time.Microsecond
	return cfg
}

// TestNothingIsRememberedOverARebuild: a projector that goes on behind a rebuild
// does not bring back what it had read before.
func TestNothingIsRememberedOverARebuild(t *testing.T) {
	t.Parallel()
	w := history(t, 81, 600)
	db, ctx := projtest.DB(t), context.Background()
	if err := run(t, config(db, w.log[:300])); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "update accession.batch set jobs_completed = jobs_completed + 1000")
	cfg := interrupted(config(db, w.log), 501, func() {
		re := anew(db, w.log[:500])
		re.Accept = true
		if _, err := rebuild.Run(ctx, re); err != nil {
			t.Error(err)
		}
	})
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	w.compare(db)
}

// TestNothingIsRememberedOverARetry: nor does it bring back the counters of before,
// when the events of a job that was held have moved them since.
func TestNothingIsRememberedOverARetry(t *testing.T) {
	t.Parallel()
	w := history(t, 84, 600)
	db, ctx := projtest.DB(t), context.Background()
	bad := 300 + slices.IndexFunc(w.log[300:], func(r domain.Recorded) bool { return r.Type == domain.EventJobCreated })
	cfg := config(db, w.log)
	cfg.Source = spoiled(w.log, bad)
	cfg = interrupted(cfg, 501, func() {
		if got, err := projections.RetryPoison(ctx, db, sourceOf(w.log), w.log[bad].Aggregate); err != nil || got.Waiting > 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	w.compare(db)
}

// slowRetry commits only when somebody waits for what its transaction has locked.
type slowRetry struct {
	query.DB
	begun  chan struct{}
	waited func() bool
}

func (s *slowRetry) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := s.DB.BeginTx(ctx, opts)
	return &slowTx{tx, s}, err
}

type slowTx struct {
	pgx.Tx
	of *slowRetry
}

func (t *slowTx) Commit(ctx context.Context) error {
	close(t.of.begun)
	for !t.of.waited() {
	}
	return t.Tx.Commit(ctx)
}

// TestNothingIsRememberedBesideARetry: nor when it waited for the retry to end.
func TestNothingIsRememberedBesideARetry(t *testing.T) {
	t.Parallel()
	w := history(t, 96, 600) // in which the batch of the event at fault goes on after 501
	db, ctx := projtest.DB(t), context.Background()
	bad := 300 + slices.IndexFunc(w.log[300:], func(r domain.Recorded) bool { return r.Type == domain.EventJobCreated })
	cfg := config(db, w.log)
	cfg.Source = spoiled(w.log, bad)
	retry := &slowRetry{DB: db, begun: make(chan struct{}), waited: func() bool {
		return count(t, db, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0
	}}
	ended := make(chan struct{})
	cfg = interrupted(cfg, 501, func() {
		go func() {
			defer close(ended)
			if got, err := projections.RetryPoison(ctx, retry, sourceOf(w.log), w.log[bad].Aggregate); err != nil || got.Waiting > 0 {
				t.Errorf("%+v, %v", got, err)
			}
		}()
		<-retry.begun
	})
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	<-ended
	w.compare(db)
}

// TestRowsThatAreGone: a projector does not go on beside rows that somebody took away.
func TestRowsThatAreGone(t *testing.T) {
	t.Parallel()
	w := history(t, 82, 600)
	db := projtest.DB(t)
	cfg := interrupted(config(db, w.log), 501, func() { exec(t, db, "delete from accession.job") })
	if err := run(t, cfg); err == nil || !strings.Contains(err.Error(), "accession rebuild") {
		t.Fatalf("got %v", err)
	}
	if n := count(t, db, "select count(*) from accession.poison_event"); n != 0 {
		t.Errorf("%d events are held", n)
	}
}

// TestRowsAreFoundByTheirKeys: no update reads a table from end to end, not even one
// that is small or that PostgreSQL knows nothing of.
func TestRowsAreFoundByTheirKeys(t *testing.T) {
	t.Parallel()
	w := history(t, 83, 600)
	db := projtest.DB(t)
	exec(t, db, "alter table accession.job set (autovacuum_enabled = off)")
	cfg := config(db, w.log)
	cfg.MaxBatch = 50
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"batch", "job", "file", "file_count", "deposit"} {
		exec(t, db, "select pg_stat_force_next_flush()")
		if n := count(t, db, "select seq_scan from pg_stat_user_tables where relid = $1::text::regclass", "accession."+table); n > 0 {
			t.Errorf("%s was read from end to end %d times", table, n)
		}
	}
}
