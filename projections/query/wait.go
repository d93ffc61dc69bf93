package query

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Waiter lets people who have just changed something wait until the tables show it. All
// waiters share one connection, which listens for the projector's notification after
// each transaction; without waiters it is closed.
type Waiter struct {
	pool *pgxpool.Pool

	mu      sync.Mutex
	waiting int
	changed chan struct{} // closed at the next transaction
	stop    context.CancelFunc
	stopped chan struct{}
}

// NewWaiter makes a waiter for a pool.
func NewWaiter(pool *pgxpool.Pool) *Waiter { return &Waiter{pool: pool, changed: make(chan struct{})} }

// pollInterval is how often a waiter asks without a notification.
const pollInterval = 2 * time.Second

// For returns when the aggregate has reached the version in the projection, so
// that the caller who has just changed it reads what was written. It returns ctx's
// error when ctx ends before that.
func (w *Waiter) For(ctx context.Context, a domain.Aggregate, version int64) error {
	q := pgdb.New(w.pool)
	reached, err := w.until(ctx, version, func() (int64, error) {
		return q.ProjectedVersion(ctx, pgdb.ProjectedVersionParams{Kind: string(a.Kind), ID: a.ID})
	})
	if err != nil {
		return fmt.Errorf("wait for %s version %d (projected: %d): %w", a, version, reached, err)
	}
	return nil
}

// Seq returns when the projection has reached this sequence.
func (w *Waiter) Seq(ctx context.Context, seq uint64) error {
	reached, err := w.until(ctx, int64(seq), func() (int64, error) {
		behind, err := Lag(ctx, w.pool, seq)
		return int64(seq) - behind, err
	})
	if err != nil {
		return fmt.Errorf("%d events are not applied yet: %w", int64(seq)-reached, err)
	}
	return nil
}

func (w *Waiter) until(ctx context.Context, want int64, look func() (int64, error)) (reached int64, err error) {
	w.join()
	defer w.leave()
	for {
		changed := w.next()
		if reached, err = look(); err != nil || reached >= want {
			return reached, err
		}
		select {
		case <-changed:
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return reached, ctx.Err()
		}
	}
}

func (w *Waiter) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func (w *Waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *Waiter) join() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 {
		ctx, stop := context.WithCancel(context.Background())
		w.stop, w.stopped = stop, make(chan struct{})
		go w.listen(ctx, w.stopped)
	}
}

// leave closes the connection after the last waiter.
func (w *Waiter) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.stop()
		// The listener may be about to wake the waiters: it must not wait for the lock.
		stopped := w.stopped
		w.mu.Unlock()
		<-stopped
		w.mu.Lock()
	}
}

// listenAgain is the pause after the connection was lost.
const listenAgain = 100 * time.Millisecond

func (w *Waiter) listen(ctx context.Context, stopped chan<- struct{}) {
	defer close(stopped)
	for ctx.Err() == nil {
		w.hear(ctx)
		select {
		case <-time.After(listenAgain):
		case <-ctx.Done():
		}
	}
}

// hear wakes the waiters after each transaction, until the connection ends.
func (w *Waiter) hear(ctx context.Context) {
	conn, err := w.pool.Acquire(ctx)
	if err != nil {
		return
	}
	defer conn.Release()
	// A connection that listened is not given to others.
	defer func() { _ = conn.Conn().Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "listen accession_projected"); err != nil {
		return
	}
	for {
		w.wake() // first of all: earlier notifications were missed
		if _, err := conn.Conn().WaitForNotification(ctx); err != nil {
			return
		}
	}
}

// Lag returns how many events the main projection is behind a log that ends at
// streamLast.
func Lag(ctx context.Context, db Reader, streamLast uint64) (int64, error) {
	seq, err := pgdb.New(db).Projected(ctx, tables.Main)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("read lag of the projection: %w", err)
	}
	return max(int64(streamLast)-seq, 0), nil
}
