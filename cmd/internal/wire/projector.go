package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// Project applies the log to the tables until ctx ends. One process at a time does so;
// the others wait for the lease. If two processes believe that they hold it, the
// checkpoint lets only one of them write.
func (in *Installation) Project(ctx context.Context) error {
	pool, err := in.Pool(ctx)
	if err != nil {
		return err
	}
	return withLease(ctx, pool, func(ctx context.Context) error {
		var stream projections.StreamInfo
		var source projections.Source
		follow := func(ctx context.Context) (projections.Source, error) { return in.Source(ctx, true) }
		if err := openAll(ctx, into(&stream, in.stream), into(&source, follow)); err != nil {
			return err
		}
		p, err := projections.New(projections.Config{DB: pool, Stream: stream, Source: source,
			Held: func(e *projections.EventError) {
				in.log.Error("an event cannot be applied to the tables; its aggregate is held, see `accession poison ls`", "role", "projector", "event", e.ID, "seq", e.Seq, "error", e.Err)
			},
		})
		if err != nil {
			return err
		}
		return p.Run(ctx)
	})
}

// Follow feeds the events of the log to the live state's indexes and to the daemons,
// until ctx ends.
func (in *Installation) Follow(ctx context.Context) error {
	var live *LiveState
	var stream projections.StreamInfo
	if err := openAll(ctx, into(&live, in.LiveState), into(&stream, in.stream)); err != nil {
		return err
	}
	source, err := in.Source(ctx, true)
	if err != nil {
		return err
	}
	for r, err := range source(ctx, stream.Last+1) {
		if _, ok := errors.AsType[*projections.Unreadable](err); ok {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		live.Observe(r)
		if in.runner != nil {
			in.runner.Notice(r)
		}
	}
	return nil
}

// CopyByType copies the events to the stream by types until ctx ends or the lead is lost.
// One process at a time does so; the others wait for the lead.
func (in *Installation) CopyByType(ctx context.Context) error {
	var live *LiveState
	var log *eventLog
	if err := openAll(ctx, into(&live, in.LiveState), into(&log, func(ctx context.Context) (*eventLog, error) { return in.events.get(ctx, in.openLog) })); err != nil {
		return err
	}
	lead, resign, err := live.LeadRole(ctx, "types")
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("lead the copying by types: %w", err)
	}
	defer resign()
	in.log.Info("copies events by type", "role", "types", "stream", in.cfg.NATSTypesStream)
	if err := log.CopyByType(lead, in.typesConfig()); err != nil || ctx.Err() != nil {
		return err
	}
	return errors.New("the lead of the copying by types was lost")
}

// Projected implements app.Tables.
func (in *Installation) Projected(ctx context.Context, a domain.Aggregate, version int64) error {
	waiter, err := in.tables(ctx)
	if err != nil {
		return err
	}
	return waiter.For(ctx, a, version)
}

// CaughtUp returns when the tables show everything that is in the log at this
// moment, or when ctx ends.
func (in *Installation) CaughtUp(ctx context.Context) error {
	var stream projections.StreamInfo
	var waiter *query.Waiter
	if err := openAll(ctx, into(&stream, in.stream), into(&waiter, in.tables)); err != nil {
		return err
	}
	return waiter.Seq(ctx, stream.Last)
}

// tables returns the waiter for the tables.
func (in *Installation) tables(ctx context.Context) (*query.Waiter, error) {
	return in.waiter.get(ctx, func(ctx context.Context) (*query.Waiter, error) {
		pool, err := in.migrated(ctx, projections.Pending)
		if err != nil {
			return nil, err
		}
		return query.NewWaiter(pool), nil
	})
}

// leaseTimeout is how long PostgreSQL may take to say that a lease is still there, or to end it.
const leaseTimeout = 10 * time.Second

// leaseEvery is how often a waiting process asks for the lease, and how often its
// holder checks that it still has it.
const leaseEvery = time.Second

var errLeaseLost = errors.New("the connection that held the projector's lock is gone")

// withLease runs do while this process holds the projector's lock in PostgreSQL. The
// lock ends with the connection: another process takes over when this one ends for any
// reason.
func withLease(ctx context.Context, pool *pgxpool.Pool, do func(context.Context) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("wait for the projector's lock: %w", err)
	}
	defer conn.Release()
	for got := false; ; {
		if err := conn.QueryRow(ctx, "select pg_try_advisory_lock(hashtext('accession projector'))").Scan(&got); err != nil {
			return fmt.Errorf("take the projector's lock: %w", err)
		}
		if got {
			break
		}
		select {
		case <-time.After(leaseEvery):
		case <-ctx.Done():
			return nil
		}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
		defer cancel()
		if _, err := conn.Exec(ctx, "select pg_advisory_unlock(hashtext('accession projector'))"); err != nil {
			_ = conn.Conn().Close(ctx) // which releases the lock
		}
	}()
	leased, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		defer end()
		watchLease(leased, conn)
	})
	err = do(leased)
	end()
	watch.Wait()
	if err == nil && ctx.Err() == nil {
		err = errLeaseLost
	}
	return err
}

// watchLease returns when the connection is gone, or ctx ends.
func watchLease(ctx context.Context, conn *pgxpool.Conn) {
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
			err := conn.Ping(ask)
			cancel()
			if err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
