package projections_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// stoppedDB is what a process uses that is stopped before the first commit of a
// transaction that has the checkpoint locked.
type stoppedDB struct {
	query.DB
	once   sync.Once
	stands chan struct{} // closed when it stands still
	goOn   chan struct{} // until this is closed
}

func (s *stoppedDB) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := s.DB.BeginTx(ctx, opts)
	return &stoppedTx{Tx: tx, s: s}, err
}

type stoppedTx struct {
	pgx.Tx
	s      *stoppedDB
	locked bool
}

// Exec makes the limit of a transaction that stands still a short one.
func (t *stoppedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	t.locked = t.locked || strings.Contains(sql, "accession.checkpoint")
	return t.Tx.Exec(ctx, strings.Replace(sql, "'5s'", "'100ms'", 1), args...)
}

func (t *stoppedTx) Commit(ctx context.Context) error {
	if t.locked {
		t.s.once.Do(func() {
			close(t.s.stands)
			<-t.s.goOn
		})
	}
	return t.Tx.Commit(ctx)
}

// TestProjectorStoppedInTheMiddle: a projector that stands still in a transaction,
// and has the checkpoint locked, keeps the next one waiting for a moment only. When it
// goes on it has written nothing, and ends.
// Shows: P4 C12
func TestProjectorStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	w := history(t, 7, 200)
	db := projtest.DB(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	runs := func(db query.DB) error {
		cfg := config(db, w.log)
		cfg.MaxBatch = 20
		p, err := projections.New(cfg)
		if err != nil {
			return err
		}
		return p.Run(ctx)
	}
	stopped := &stoppedDB{DB: db, stands: make(chan struct{}), goOn: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- runs(stopped) }()
	select {
	case <-stopped.stands:
	case err := <-ended:
		t.Fatalf("it ended before its first commit: %v", err)
	}
	if err := runs(db); err != nil || ctx.Err() != nil {
		t.Errorf("the next one, while the first stands still: %v", errors.Join(err, ctx.Err()))
	}
	close(stopped.goOn)
	if err := <-ended; !errors.Is(err, projections.ErrOtherProjector) {
		t.Errorf("the first, when it goes on: %v", err)
	}
	w.compare(db)
}
