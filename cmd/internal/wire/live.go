package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// LiveState is the live state, counted and bounded: every commit and claim of this
// process passes through it.
type LiveState struct {
	*zklive.Store
	metrics  *ops.Metrics
	pressure *eventstore.Pressure
	// profilesSet counts the profiles that this process has set.
	profilesSet *atomic.Int64
	written     func(ctx context.Context, a domain.Aggregate, version int64) (command string, err error)
}

// LiveState returns the live state's adapter.
func (in *Installation) LiveState(ctx context.Context) (*LiveState, error) {
	return in.live.get(ctx, func(ctx context.Context) (*LiveState, error) {
		ctx, cancel := context.WithTimeout(ctx, in.cfg.OpenTimeout)
		defer cancel()
		s, err := zklive.Open(ctx, zklive.Config{
			Servers: in.cfg.ZooKeeper, Root: in.cfg.ZooKeeperRoot, SessionTimeout: in.cfg.ZooKeeperSessionTimeout,
			Shards: in.cfg.OutboxShards, Grace: max(in.cfg.OutboxGrace, time.Nanosecond), QueueLimit: in.cfg.QueueLimit, HeapLimit: in.heapLimit() / 2 * 3,
			GroupCommit: in.cfg.GroupCommit, RelayHints: in.cfg.RelayHints, DepositQueues: in.cfg.DepositQueues(),
			Roles: in.roles, Daemons: in.daemons(), Timeouts: in.servedTimeouts(), Logger: in.log, Written: in.writer, Restoring: in.restoring, CheckNew: in.checkNewTree,
		})
		var known *app.Error
		if newer := newerFormat(app.ServerZooKeeper, err); newer != nil {
			return nil, newer
		}
		if errors.Is(err, eventstore.ErrBroken) || errors.As(err, &known) {
			return nil, err
		}
		if err != nil {
			return nil, in.unavailable(app.ServerZooKeeper, err)
		}
		limits := eventstore.Limits{Warn: in.cfg.OutboxWarn, Full: in.cfg.OutboxFull, Stop: in.cfg.OutboxStop, Queue: in.cfg.QueueLimit, Heap: in.heapLimit()}
		live := &LiveState{Store: s, metrics: in.metrics, profilesSet: &in.profilesSet, written: in.writer, pressure: &eventstore.Pressure{Measure: s.Load, Limits: limits, Log: in.log}}
		in.setReader.Store(live)
		return live, nil
	})
}

// heapLimit returns how many bytes of ZooKeeper's heap may be in use when a deposit is
// taken: half of them. Its jobs are made while three quarters are enough. Above, the
// server spends its time on collecting garbage.
func (in *Installation) heapLimit() int64 { return int64(in.cfg.ZooKeeperHeap) / 2 }

// newerFormat returns the error for a server whose data this program cannot serve, nil =
// err is another one.
func newerFormat(server string, err error) error {
	if format, ok := errors.AsType[*eventstore.FormatError](err); ok {
		return &app.Error{Kind: app.Lost, What: server, Err: format,
			Hint: "nothing was taken or changed. Use the version of accession that the other processes run; docs/operating.md#upgrade has the steps"}
	}
	return nil
}

// Live implements app.LiveState.
func (in *Installation) Live(ctx context.Context) (app.Live, error) { return in.LiveState(ctx) }

// DepositQueues opens the deposit queues.
func (in *Installation) DepositQueues(ctx context.Context) (eventstore.DepositQueues, error) {
	return in.LiveState(ctx)
}

// Permits implements app.LiveState.
func (in *Installation) Permits(ctx context.Context, named int) ([]eventstore.PermitsTaken, error) {
	s, err := in.LiveState(ctx)
	if err != nil {
		return nil, err
	}
	return s.Permits(ctx, named)
}

// Inspect implements app.LiveState.
func (in *Installation) Inspect(ctx context.Context) (consistency.Live, error) {
	s, err := in.LiveState(ctx)
	return consistency.Live{Inspector: s, RingInspector: s, QueryInspector: s, EntryInspector: s, Layout: s, State: s, Entries: s, IDs: s}, err
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
		var asked error
		last, asked = lastOfTree(ctx, log)
		err = in.unavailable(app.ServerNATS, asked)
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
		Err:  fmt.Errorf("the tree below %s/ is lost: it has nothing, and the log %s has %d events; `accession restore zookeeper` makes it again", in.cfg.ZooKeeperRoot, in.cfg.NATSStream, last),
		Hint: "nothing was made or taken. Is this the right server, and the right zookeeper_root? Then stop every process and run `accession restore zookeeper`"}
}

// lastOfTree returns the last sequence of a log, 0 = none of its events is of the live state:
// files and slots may be there before anything else is.
func lastOfTree(ctx context.Context, log eventstore.Log) (uint64, error) {
	info, err := log.Info(ctx)
	if err != nil || info.Last == 0 {
		return 0, err
	}
	for r, err := range log.Read(ctx, eventstore.ReadOptions{To: info.Last}) {
		if err != nil || !r.Aggregate.Kind.OfLog() {
			return info.Last, err
		}
	}
	return 0, nil
}

// ReserveBatchID implements eventstore.Catalog. It returns an error instead of an id that is
// in use: the next ids were lowered.
func (l *LiveState) ReserveBatchID(ctx context.Context) (domain.BatchID, error) {
	id, err := l.Store.ReserveBatchID(ctx)
	if err == nil {
		err = l.checkUnused(ctx, id.Aggregate())
	}
	return id, err
}

// ReserveQueryID implements eventstore.Queries, as ReserveBatchID does.
func (l *LiveState) ReserveQueryID(ctx context.Context) (domain.QueryID, error) {
	id, err := l.Store.ReserveQueryID(ctx)
	if err == nil {
		err = l.checkUnused(ctx, id.Aggregate())
	}
	return id, err
}

// ReserveJobIDs implements eventstore.Catalog, as ReserveBatchID does.
func (l *LiveState) ReserveJobIDs(ctx context.Context, n int) (domain.JobID, error) {
	first, err := l.Store.ReserveJobIDs(ctx, n)
	if err == nil {
		err = l.checkUnused(ctx, first.Aggregate(), first.Plus(n-1).Aggregate())
	}
	return first, err
}

// checkUnused returns an error if one of these is known. The log may not answer: then
// the live state alone is asked.
func (l *LiveState) checkUnused(ctx context.Context, all ...domain.Aggregate) error {
	for _, a := range all {
		command, err := l.written(ctx, a, 1)
		if err != nil || command == "" {
			switch a.Kind {
			case domain.KindBatch:
				_, err = l.Batch(ctx, domain.BatchID(a.ID))
			case domain.KindQuery:
				_, err = l.LoadQuery(ctx, domain.QueryID(a.ID))
			default:
				_, err = l.Job(ctx, domain.JobID(a.ID))
			}
			if errors.Is(err, eventstore.ErrNotFound) {
				continue
			}
			if err != nil && !errors.Is(err, eventstore.ErrBroken) {
				return err
			}
		}
		return older(&consistency.Older{Code: consistency.IDsLow,
			Why: fmt.Sprintf("the next id in ZooKeeper is %s, which is in use: /ids was lowered, or ZooKeeper has an older copy", a.ID)})
	}
	return nil
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
	l.noteProfiles(changes)
	for i, d := range done {
		if d.Claim != nil {
			in := cmp.Or(string(changes[i].Next), string(domain.BatchPending))
			if changes[i].Entry != nil {
				in = string(entry.Pending)
			}
			l.metrics.Claimed(d.Claim, in)
		}
	}
	return done, err
}

// NextJob implements eventstore.Claims.
func (l *LiveState) NextJob(ctx context.Context, state domain.JobState, gate eventstore.Gate[domain.Job]) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	return next(ctx, l, state, gate, l.Store.NextJob)
}

// NextBatch implements eventstore.Claims.
func (l *LiveState) NextBatch(ctx context.Context, state domain.BatchState, gate eventstore.Gate[domain.Batch]) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	return next(ctx, l, state, gate, l.Store.NextBatch)
}

// Grab implements eventstore.Rings.
func (l *LiveState) Grab(ctx context.Context, queue, processor string, write func(eventstore.Leave) error) error {
	if err := l.pressure.Wait(ctx); err != nil {
		return err
	}
	return l.Store.Grab(ctx, queue, processor, write)
}

// TakeEntry implements eventstore.Entries.
func (l *LiveState) TakeEntry(ctx context.Context, wants compute.Wants, write func(eventstore.Take) error) error {
	if err := l.pressure.Wait(ctx); err != nil {
		return err
	}
	return l.Store.TakeEntry(ctx, wants, write)
}

// next claims work in a state, unless the outbox is too full for more.
func next[S any, Q ~string, G any](ctx context.Context, l *LiveState, state Q, gate G, claim func(context.Context, Q, G) (*eventstore.Claim, eventstore.Loaded[S], error)) (c *eventstore.Claim, loaded eventstore.Loaded[S], err error) {
	if err := l.pressure.Wait(ctx); err != nil {
		return nil, loaded, err
	}
	if c, loaded, err = claim(ctx, state, gate); err == nil {
		l.metrics.Claimed(c, string(state))
	}
	return c, loaded, err
}
