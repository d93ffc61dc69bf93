package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// leaseEvery is how often a process that waits for its turn asks again, and how
// often one that has it looks whether it still does.
const leaseEvery = time.Second

// withLease runs do while this process holds the projector's lock in PostgreSQL,
// which goes with the connection that took it: another process takes over when
// this one ends, however it ends.
func withLease(ctx context.Context, pool *pgxpool.Pool, do func(context.Context) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("wait for the projector's lock: %w", err)
	}
	defer conn.Release()
	for {
		var got bool
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
		defer cancel()
		if _, err := conn.Exec(ctx, "select pg_advisory_unlock(hashtext('accession projector'))"); err != nil {
			_ = conn.Conn().Close(ctx) // the lock goes with it
		}
	}()
	held, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchLease(held, conn, lost)
	}()
	err = do(held)
	lost(nil)
	<-watched
	if err == nil && ctx.Err() == nil {
		err = errLeaseLost
	}
	return err
}

var errLeaseLost = errors.New("the connection that held the projector's lock is gone")

// watchLease asks the connection now and then whether it is still there.
func watchLease(ctx context.Context, conn *pgxpool.Conn, lost context.CancelCauseFunc) {
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
			err := conn.Ping(ask)
			cancel()
			if err != nil {
				lost(errLeaseLost)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
