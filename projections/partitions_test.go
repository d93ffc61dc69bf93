package projections_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// shifted are tables of one event, and beside them those of a rebuild of it, that
// stand at a place far behind; and the log which goes on there.
type shifted struct {
	db    *pgxpool.Pool
	ahead uint64 // where the first event of the log stands
	log   []domain.Recorded
}

func shift(t *testing.T, seed, ahead uint64) shifted {
	t.Helper()
	w, s := history(t, seed, 80), shifted{db: projtest.DB(t), ahead: ahead}
	if err := run(t, config(s.db, w.log[:1])); err != nil {
		t.Fatal(err)
	}
	exec(t, s.db, "update accession.batch set submitter = 'somebody else'")
	var differ *rebuild.DifferentError
	if _, err := rebuild.Run(t.Context(), anew(s.db, w.log[:1])); !errors.As(err, &differ) {
		t.Fatal(err)
	}
	for _, schema := range []string{"accession", "accession_next"} {
		if _, err := s.db.Exec(t.Context(), "update "+schema+".checkpoint set seq = $1", ahead); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range w.log {
		r.Seq = ahead + uint64(i)
		s.log = append(s.log, r)
	}
	return s
}

func (s shifted) source(log []domain.Recorded) projections.Source {
	return func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return sourceOf(log)(ctx, from-s.ahead+1)
	}
}

// config reads the first n events.
func (s shifted) config(n int) projections.Config {
	cfg := config(s.db, s.log[:n])
	cfg.MaxBatch, cfg.MaxDelay = 15, time.Hour
	cfg.Stream.Last, cfg.Source = s.log[n-1].Seq, s.source(s.log[:n])
	return cfg
}

// rebuild goes on with the rebuild up to the n-th event and swaps.
func (s shifted) rebuild(n int) error {
	re := anew(s.db, s.log[:n])
	re.Source, re.Resume, re.Accept = s.source(s.log[:n]), true, true
	re.Stream.Last = s.log[n-1].Seq
	re.Last = func(context.Context) (uint64, error) { return s.log[n-1].Seq, nil }
	_, err := rebuild.Run(context.Background(), re)
	return err
}

// TestRebuildMakesPartitions: as behind a projector, the partition of the last event
// and the next one are there behind a rebuild that came into another one last.
func TestRebuildMakesPartitions(t *testing.T) {
	t.Parallel()
	s := shift(t, 41, 999_980)
	if err := run(t, s.config(60)); err != nil {
		t.Fatal(err)
	}
	if err := s.rebuild(60); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"event_default": 0, "event_000000000": 20, "event_000000001": 40, "event_000000002": 0} {
		if n := count(t, s.db, "select count(*) from accession."+table); n != want {
			t.Errorf("%s has %d events, want %d", table, n, want)
		}
	}
}

// TestPartitionsOfOtherTables: a projector that goes on over a swap does not rely on
// the partitions of the tables that are gone.
func TestPartitionsOfOtherTables(t *testing.T) {
	t.Parallel()
	s := shift(t, 42, 1_999_960)
	cfg := s.config(len(s.log))
	cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range s.source(s.log)(ctx, from) {
				if r.Seq == s.ahead+31 {
					// Thirty events are two transactions; the third one goes from one partition
					// into the next.
					if err := query.NewWaiter(s.db).Seq(ctx, r.Seq-1); err != nil {
						t.Error(err)
					}
					if err := s.rebuild(31); err != nil {
						t.Error(err)
					}
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"event_default": 0, "event_000000000": 1, "event_000000001": 39, "event_000000002": len(s.log) - 40} {
		if n := count(t, s.db, "select count(*) from accession."+table); n != want {
			t.Errorf("%s has %d events, want %d", table, n, want)
		}
	}
}
