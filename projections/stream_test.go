package projections_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// TestOtherStream: a log that is not the one that was applied is refused, and
// nothing is changed.
func TestOtherStream(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *projections.Config, log []domain.Recorded){
		"another name":        func(c *projections.Config, _ []domain.Recorded) { c.Stream.Name = "other" },
		"created again":       func(c *projections.Config, _ []domain.Recorded) { c.Stream.Created = created.Add(time.Second) },
		"its tail is lost":    func(c *projections.Config, log []domain.Recorded) { *c = config(c.DB, log[:50]) },
		"another event there": func(c *projections.Config, log []domain.Recorded) { log[59] = log[58]; log[59].Seq = 60 },
		"another command":     func(c *projections.Config, log []domain.Recorded) { log[59].CommandID = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := history(t, 8, 100)
			db := projtest.DB(t)
			if err := run(t, config(db, w.log[:60])); err != nil {
				t.Fatal(err)
			}
			cfg := config(db, w.log)
			change(&cfg, w.log)
			err := run(t, cfg)
			var refused *projections.StreamError
			if !errors.As(err, &refused) || refused.Seq != 60 {
				t.Fatalf("got %v", err)
			}
			if n := count(t, db, "select count(*) from accession.event"); n != 60 {
				t.Errorf("%d events, want 60", n)
			}
		})
	}
}

// TestSourceFails: what came before the error is kept, and the error is told.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	w := history(t, 9, 100)
	db := projtest.DB(t)
	broken := errors.New("event 31 cannot be read")
	cfg := config(db, w.log)
	cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range sourceOf(w.log[:30])(ctx, from) {
				if !yield(r, err) {
					return
				}
			}
			yield(domain.Recorded{}, broken)
		}
	}
	if err := run(t, cfg); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if n := count(t, db, "select seq from accession.checkpoint"); n != 30 {
		t.Errorf("the checkpoint is at %d, want 30", n)
	}
}

// TestWait: those who wait for a version or a place see it as soon as it is
// projected, and each transaction is notified once.
func TestWait(t *testing.T) {
	t.Parallel()
	w := history(t, 10, 200)
	db := projtest.DB(t)
	ctx := context.Background()
	conn, err := db.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "listen accession_projected"); err != nil {
		t.Fatal(err)
	}
	last := w.log[len(w.log)-1]
	waiter := query.NewWaiter(db)
	waited := make(chan error, 3)
	for range 2 {
		go func() { waited <- waiter.For(ctx, last.Aggregate, last.Version) }()
	}
	go func() { waited <- waiter.Seq(ctx, last.Seq) }()

	cfg := config(db, w.log)
	cfg.MaxBatch = 100
	batches := 0
	cfg.Applied = func(projections.Applied) { batches++ }
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	for range cap(waited) {
		if err := <-waited; err != nil {
			t.Error(err)
		}
	}
	for i := range batches {
		n, err := conn.Conn().WaitForNotification(ctx)
		if err != nil || n.Payload == "" {
			t.Fatalf("notification %d of %d: %v %v", i+1, batches, n, err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := waiter.For(short, last.Aggregate, last.Version+1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a version that does not come: %v", err)
	}
}

// TestLag counts what is missing.
func TestLag(t *testing.T) {
	t.Parallel()
	w := history(t, 11, 60)
	db := projtest.DB(t)
	ctx := context.Background()
	for _, step := range []struct {
		applied int
		last    uint64
		events  int64
	}{{0, 7, 7}, {50, 50, 0}, {50, 57, 7}} {
		if step.applied > 0 {
			if err := run(t, config(db, w.log[:step.applied])); err != nil {
				t.Fatal(err)
			}
		}
		events, err := query.Lag(ctx, db, step.last)
		if err != nil || events != step.events {
			t.Errorf("%+v: %d events, %v", step, events, err)
		}
	}
}

// TestPartitions: partitions are there before the events that go into them.
func TestPartitions(t *testing.T) {
	t.Parallel()
	w := history(t, 12, 60)
	db := projtest.DB(t)
	ctx := context.Background()
	const ahead = 2_999_980
	if err := run(t, config(db, w.log[:1])); err != nil {
		t.Fatal(err)
	}
	// The stream goes on far behind: as if two million events had been applied.
	if _, err := db.Exec(ctx, "update accession.checkpoint set seq = $1", ahead); err != nil {
		t.Fatal(err)
	}
	moved := make([]domain.Recorded, len(w.log))
	for i, r := range w.log {
		r.Seq = uint64(ahead + i)
		moved[i] = r
	}
	cfg := config(db, moved)
	cfg.MaxBatch = 10
	cfg.Stream.Last = moved[len(moved)-1].Seq
	cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return sourceOf(moved)(ctx, from-ahead+1)
	}
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"event_default": 0, "event_000000000": 1, "event_000000002": 19, "event_000000003": len(w.log) - 20} {
		if n := count(t, db, "select count(*) from accession."+table); n != want {
			t.Errorf("%s has %d events, want %d", table, n, want)
		}
	}
	if n := count(t, db, "select count(*) from pg_class where relname = 'event_000000004'"); n != 1 {
		t.Error("the next partition was not made ahead")
	}
}
