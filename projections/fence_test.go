package projections_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// errCut is what a statement says that a test cut off for good.
var errCut = errors.New("cut off by the test")

// faultyDB fails one call: the nth from its making on, counted over statements,
// copies, begins and commits. If lost is set, it is the nth commit, and it has happened
// all the same: only its answer is missing.
type faultyDB struct {
	query.DB
	mu   sync.Mutex
	left int
	err  error
	lost bool
	cut  bool // the connection, which is not err
}

func (f *faultyDB) fails(commit bool) bool {
	if f.lost && !commit {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left--
	return f.left == 0
}

func (f *faultyDB) struck() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left <= 0
}

func (f *faultyDB) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if f.fails(false) {
		return pgconn.CommandTag{}, f.err
	}
	return f.DB.Exec(ctx, sql, args...)
}

func (f *faultyDB) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if f.fails(false) {
		return failedRow{f.err}
	}
	return f.DB.QueryRow(ctx, sql, args...)
}

func (f *faultyDB) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	if f.fails(false) {
		return nil, f.err
	}
	tx, err := f.DB.BeginTx(ctx, opts)
	return &faultyTx{tx, f}, err
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

type faultyTx struct {
	pgx.Tx
	f *faultyDB
}

func (t *faultyTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if t.f.fails(false) {
		return pgconn.CommandTag{}, t.f.err
	}
	return t.Tx.Exec(ctx, sql, args...)
}

func (t *faultyTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.f.fails(false) {
		return nil, t.f.err
	}
	return t.Tx.Query(ctx, sql, args...)
}

func (t *faultyTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if t.f.fails(false) {
		return failedRow{t.f.err}
	}
	return t.Tx.QueryRow(ctx, sql, args...)
}

// Conn is called for copies, and for updates of lists. It cuts the connection.
func (t *faultyTx) Conn() *pgx.Conn {
	conn := t.Tx.Conn()
	if t.f.fails(false) {
		t.f.cut = true
		_ = conn.PgConn().Conn().Close()
	}
	return conn
}

func (t *faultyTx) Commit(ctx context.Context) error {
	if !t.f.fails(true) {
		return t.Tx.Commit(ctx)
	}
	if t.f.lost {
		if err := t.Tx.Commit(ctx); err != nil {
			return err
		}
	}
	return t.f.err
}

// TestExactlyOnce cuts the projector off at every single statement. Cut off for
// good it leaves a whole number of transactions behind, and the next run goes on
// from there; when PostgreSQL is only away for a moment, the same run does.
// Shows: P4 C11
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		lost   bool
		rounds int // through all calls of a run
	}{
		"cut off":                         {errCut, false, 1},
		"cut off after the commit":        {errCut, true, 5},
		"PostgreSQL away":                 {io.ErrUnexpectedEOF, false, 1},
		"the answer to a commit was lost": {io.ErrUnexpectedEOF, true, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const chunk = 25 // events a run, in three transactions
			w := history(t, 42, 1500)
			db := projtest.DB(t)
			rounds := 0 // each ends with a run that has no call left to cut off
			for n, done := 1, chunk; done <= len(w.log) && rounds < c.rounds; done += chunk {
				faulty := &faultyDB{DB: db, left: n, err: c.err, lost: c.lost}
				cfg := config(faulty, w.log[:done])
				cfg.MaxBatch, cfg.RetryDelay = 10, time.Microsecond
				err := run(t, cfg)
				if errors.Is(c.err, errCut) && faulty.struck() && !errors.Is(err, errCut) && !faulty.cut || !errors.Is(c.err, errCut) && err != nil {
					t.Fatalf("call %d cut off: %v", n, err)
				}
				if at, have := count(t, db, "select coalesce(max(seq), 0) from accession.checkpoint"), count(t, db, "select count(*) from accession.event"); at != have {
					t.Fatalf("call %d cut off: the checkpoint is at %d, the history has %d events", n, at, have)
				}
				addsUp(t, db)
				if err := run(t, config(db, w.log[:done])); err != nil {
					t.Fatalf("after call %d was cut off: %v", n, err)
				}
				if n++; !faulty.struck() {
					rounds, n = rounds+1, 1
				}
			}
			if rounds < c.rounds {
				t.Fatal("the history is too short to cut off every call of a run")
			}
			if err := run(t, config(db, w.log)); err != nil {
				t.Fatal(err)
			}
			w.compare(db)
		})
	}
}

// TestTwoProjectors: both begin at the same checkpoint; one goes on, the other
// stops and has changed nothing.
// Shows: P4 C12
func TestTwoProjectors(t *testing.T) {
	t.Parallel()
	w := history(t, 5, 400)
	db := projtest.DB(t)
	var ready sync.WaitGroup
	ready.Add(2)
	errs := make(chan error, 2)
	for range 2 {
		cfg := config(db, w.log)
		cfg.MaxBatch = 20
		source := cfg.Source
		cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
			ready.Done()
			ready.Wait()
			return source(ctx, from)
		}
		p, err := projections.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		go func() { errs <- p.Run(context.Background()) }()
	}
	first, second := <-errs, <-errs
	if first == nil {
		first, second = second, first
	}
	if !errors.Is(first, projections.ErrOtherProjector) || second != nil {
		t.Fatalf("got %v and %v", first, second)
	}
	w.compare(db)
}

// TestStops: a projector that is told to stop ends without an error, at once,
// also while it waits for events.
func TestStops(t *testing.T) {
	t.Parallel()
	w := history(t, 6, 50)
	db := projtest.DB(t)
	ctx, cancel := context.WithCancel(context.Background())
	cfg := config(db, w.log)
	cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range sourceOf(w.log)(ctx, from) {
				if !yield(r, err) {
					return
				}
			}
			<-ctx.Done() // a log that is followed and does not grow
		}
	}
	cfg.Applied = func(a projections.Applied) {
		if a.Seq == uint64(len(w.log)) {
			cancel()
		}
	}
	p, err := projections.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	w.compare(db)
}
