package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// LiveState is the live state, counted and bounded: every commit and claim of this
// process passes through it.
type LiveState struct {
	*zklive.Store
	metrics  *ops.Metrics
	pressure *eventstore.Pressure
}

// LiveState returns the live state's adapter.
func (in *Installation) LiveState(ctx context.Context) (*LiveState, error) {
	return in.live.get(ctx, func(ctx context.Context) (*LiveState, error) {
		ctx, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		s, err := zklive.Open(ctx, zklive.Config{
			Servers: in.cfg.ZooKeeper, Root: in.cfg.ZooKeeperRoot, SessionTimeout: in.cfg.ZooKeeperSessionTimeout,
			Shards: in.cfg.OutboxShards, Grace: in.cfg.OutboxGrace, QueueLimit: in.cfg.QueueLimit,
			GroupCommit: in.cfg.GroupCommit, RelayHints: in.cfg.RelayHints,
			Roles: in.roles, Logger: in.log, Written: in.writer, Restoring: in.restoring, Fresh: in.checkNewTree,
		})
		var known *app.Error
		if errors.Is(err, eventstore.ErrBroken) || errors.As(err, &known) {
			return nil, err
		}
		if err != nil {
			return nil, in.unavailable(app.ServerZooKeeper, err)
		}
		limits := eventstore.Limits{Warn: in.cfg.OutboxWarn, Full: in.cfg.OutboxFull, Stop: in.cfg.OutboxStop, Queue: in.cfg.QueueLimit}
		return &LiveState{Store: s, metrics: in.metrics, pressure: &eventstore.Pressure{Measure: s.Load, Limits: limits, Log: in.log}}, nil
	})
}

// Live implements app.LiveState.
func (in *Installation) Live(ctx context.Context) (app.Live, error) { return in.LiveState(ctx) }

// Inspect implements app.LiveState.
func (in *Installation) Inspect(ctx context.Context) (consistency.Live, error) {
	s, err := in.LiveState(ctx)
	return consistency.Live{Inspector: s, Layout: s, State: s}, err
}

// Restorer implements app.LiveState. It opens the live state for a restore, which must not
// be open yet.
func (in *Installation) Restorer(ctx context.Context) (eventstore.Restorer, error) {
	in.restoring = true
	return in.LiveState(ctx)
}

// checkNewTree returns an error if the tree has never been written to but the log has
// events: the tree of this log is lost, and deposits would get ids that were used
// before.
func (in *Installation) checkNewTree(ctx context.Context) error {
	var last uint64
	log, err := in.Log(ctx)
	if err == nil {
		info, asked := log.Info(ctx)
		last, err = info.Last, in.unavailable(app.ServerNATS, asked)
	}
	var known *app.Error
	if errors.As(err, &known) {
		return &app.Error{Kind: known.Kind, What: known.What, Hint: known.Hint,
			Err: fmt.Errorf("the tree below %s/ is new or lost, and only the log tells which: %w", in.cfg.ZooKeeperRoot, known.Err)}
	}
	if last == 0 || err != nil {
		return err
	}
	return &app.Error{Kind: app.Lost, What: app.ServerZooKeeper,
		Err:  fmt.Errorf("the tree below %s/ is lost: it has nothing, and the log %s has %d events; `accession restore zookeeper` makes it anew", in.cfg.ZooKeeperRoot, in.cfg.NATSStream, last),
		Hint: "nothing was made or taken. Is this the right server, and the right zookeeper_root? Then stop every process and run `accession restore zookeeper`"}
}

// Room implements app.Live.
func (l *LiveState) Room(ctx context.Context) error { return l.pressure.Deposit(ctx) }

// Commit implements eventstore.Live.
func (l *LiveState) Commit(ctx context.Context, changes ...eventstore.Change) (done []eventstore.Committed, err error) {
	begun := time.Now()
	if err = l.pressure.Admit(ctx, changes); err == nil {
		done, err = l.Store.Commit(ctx, changes...)
	}
	l.metrics.Committed(changes, time.Since(begun), err)
	for i, d := range done {
		if d.Claim != nil {
			l.metrics.Claimed(d.Claim, string(changes[i].Next))
		}
	}
	return done, err
}

// NextJob implements eventstore.Claims.
func (l *LiveState) NextJob(ctx context.Context, state domain.JobState) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	return next(ctx, l, state, l.Store.NextJob)
}

// NextBatch implements eventstore.Claims.
func (l *LiveState) NextBatch(ctx context.Context, state domain.BatchState) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	return next(ctx, l, state, l.Store.NextBatch)
}

// next claims work in a state, unless the outbox is too full for more.
func next[S any, Q ~string](ctx context.Context, l *LiveState, state Q, claim func(context.Context, Q) (*eventstore.Claim, eventstore.Loaded[S], error)) (c *eventstore.Claim, loaded eventstore.Loaded[S], err error) {
	if err := l.pressure.Wait(ctx); err != nil {
		return nil, loaded, err
	}
	if c, loaded, err = claim(ctx, state); err == nil {
		l.metrics.Claimed(c, string(state))
	}
	return c, loaded, err
}
