package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Source returns the events of the log from a sequence on (1 is the first), in order
// and without gap. It ends when ctx ends, or, if it does not follow the log,
// where the log ends. An event that cannot be read comes with an [*Unreadable];
// any other error ends the iteration.
type Source func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error]

// StreamInfo describes the log behind a [Source].
type StreamInfo = tables.Stream

// DB is what the projector needs of a pool.
type DB = tables.DB

// Pool is many connections, for what needs several at a time.
type Pool = pgxpool.Pool

// Config is what a projector reads and where it writes.
type Config struct {
	DB     DB
	Stream StreamInfo
	Source Source

	// Name is that of the projection's checkpoint, "" = main.
	Name string
	// MaxBatch is how many events go into one transaction at most, 0 = 2,000.
	MaxBatch int
	// MaxDelay is how long the first event of a transaction waits for more, 0 = 20 ms; at
	// most 40 ms are sensible. After a transaction of many events (100) the next one waits
	// five times as long: then a row that several events change is written once.
	MaxDelay time.Duration
	// RetryDelay is the first pause after PostgreSQL could not be reached; it
	// doubles up to 5 s. 0 = 50 ms.
	RetryDelay time.Duration
	// PoisonTries is how often an event is tried before its aggregate is held, 0 =
	// 3.
	PoisonTries int
	// Held, unless nil, is called when an aggregate is held, with the event and its error.
	Held func(*EventError)
	// Applied, unless nil, is called after each commit.
	Applied func(Applied)
}

// InUTC makes the connections of a pool return times in UTC, as the readers of the
// tables promise.
func InUTC(cfg *pgxpool.Config) { tables.InUTC(cfg) }

// Applied describes one committed transaction.
type Applied struct {
	Seq    uint64 // of its last event
	Events int
	Took   time.Duration // from its first statement to the commit
}

const (
	defaultMaxBatch   = 2000
	defaultMaxDelay   = 20 * time.Millisecond
	defaultRetryDelay = 50 * time.Millisecond
	defaultTries      = 3
	maxRetryDelay     = 5 * time.Second

	cachedBatches = 5 // times MaxBatch: states of each kind that stay in memory between transactions

	busyBatch = 100 // after a transaction of this many events more are expected
	busyDelay = 5   // times MaxDelay
)

// Projector applies the log to the tables.
type Projector struct {
	cfg  Config
	q    *pgdb.Queries
	at   tables.Checkpoint // the checkpoint that this projector wrote last
	part int64             // the partition of the table of events made last, -1 = none yet

	lastFold      *fold.Fold             // the states after the last transaction, nil = they are not known
	checkpointRow pgdb.MoveCheckpointRow // the checkpoint after it: while it is equal no other process has written
}

// New makes a projector; [Projector.Run] starts it.
func New(cfg Config) (*Projector, error) {
	if cfg.DB == nil || cfg.Source == nil || cfg.Stream.Name == "" {
		return nil, errors.New("a projector needs DB, Source and the name of the stream")
	}
	cfg.Name = cmp.Or(cfg.Name, tables.Main)
	cfg.MaxBatch = cmp.Or(cfg.MaxBatch, crash.Remembered(defaultMaxBatch))
	cfg.MaxDelay = cmp.Or(cfg.MaxDelay, defaultMaxDelay)
	cfg.RetryDelay = cmp.Or(cfg.RetryDelay, defaultRetryDelay)
	cfg.PoisonTries = cmp.Or(cfg.PoisonTries, defaultTries)
	cfg.Stream = cfg.Stream.Stored()
	return &Projector{cfg: cfg, q: pgdb.New(cfg.DB), part: -1}, nil
}

// Run applies events until ctx ends or the source does, and then returns nil. While
// PostgreSQL cannot be reached it tries again. If an event cannot be applied its
// aggregate is held: the event and those that follow it wait in the table poison_event
// for [RetryPoison]. Errors: [ErrOtherProjector], [*StreamError], [*VersionError],
// [*TablesError], the source's own, and PostgreSQL's when trying again cannot help.
func (p *Projector) Run(ctx context.Context) error {
	if err := p.retry(ctx, func() error { return p.open(ctx) }); err != nil {
		return p.stopError(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	incoming := make(chan sourced, p.cfg.MaxBatch)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	at := p.at
	reader.Go(func() { p.read(ctx, at, incoming) })

	var events []readEvent
	for delay := p.cfg.MaxDelay; ; {
		var ended bool
		var cause error
		events, ended, cause = p.collect(ctx, incoming, events[:0], delay)
		delay = p.cfg.MaxDelay
		if len(events) >= busyBatch {
			delay *= busyDelay
		}
		if len(events) > 0 {
			err := p.project(ctx, events, nil)
			if err != nil && poisonous(err) {
				err = p.isolatePoison(ctx, events, err)
			}
			if err != nil {
				return p.stopError(ctx, err)
			}
		}
		if ended {
			return p.stopError(ctx, cause)
		}
	}
}

// stopError returns err with the projection's name, or nil if ctx has ended.
func (p *Projector) stopError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("projection %s: %w", p.cfg.Name, otherTables(err))
	}
	return nil
}

// sourced is what the source returned: an event, or its error. A closed channel says that the
// source has ended.
type sourced struct {
	event readEvent
	err   error
}

// read sends the events of the source to a channel. It reads the event at the
// checkpoint again, to check that it is the one that was applied.
func (p *Projector) read(ctx context.Context, at tables.Checkpoint, to chan<- sourced) {
	defer close(to)
	next := max(uint64(at.Seq), 1)
	for r, err := range p.cfg.Source(ctx, next) {
		var fault *Unreadable
		if errors.As(err, &fault) && r.Aggregate.ID != "" {
			err = nil
		}
		switch {
		case err != nil:
		case r.Seq != next:
			err = broken(at, fmt.Sprintf("event %d came where %d was due", r.Seq, next))
		case r.Seq == uint64(at.Seq):
			next++
			if r.ID() == at.LastEventID && r.CommandID == at.LastCommandID {
				continue
			}
			err = broken(at, fmt.Sprintf("its event at that sequence is %s of command %s, not %s of command %s",
				r.ID(), r.CommandID, at.LastEventID, at.LastCommandID))
		default:
			next++
		}
		select {
		case to <- sourced{readEvent{r, fault}, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// collect waits for an event, then at most delay for more, and appends them to events.
// ended says that no events follow, because the source has ended, with the error cause,
// or ctx has.
func (p *Projector) collect(ctx context.Context, from <-chan sourced, events []readEvent, delay time.Duration) (_ []readEvent, ended bool, cause error) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for len(events) < p.cfg.MaxBatch {
		select {
		case r, open := <-from:
			if !open || r.err != nil {
				return events, true, r.err
			}
			if len(events) == 0 {
				timer.Reset(delay)
			}
			events = append(events, r.event)
		case <-timer.C:
			return events, false, nil
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
	}
	return events, false, nil
}

// retry calls try again while PostgreSQL cannot be reached.
func (p *Projector) retry(ctx context.Context, try func() error) error {
	delays := p.delays()
	for {
		err := try()
		if err == nil || !transient(err) || ctx.Err() != nil {
			return err
		}
		if err := p.pause(ctx, delays.NextBackOff()); err != nil {
			return err
		}
	}
}

// project applies events in one transaction, and repeats it while PostgreSQL cannot be
// reached. If the answer to a commit was lost, the checkpoint shows whether it was
// committed. bad, unless nil, says why the one event in events is poison.
func (p *Projector) project(ctx context.Context, events []readEvent, bad *poison) error {
	to := tables.After(p.at, events[len(events)-1].Recorded)
	began := time.Now()
	first := true
	err := p.retry(ctx, func() error {
		if !first {
			now, err := p.q.Checkpoint(ctx, p.cfg.Name)
			if err != nil || (now.Seq == to.Seq && now.LastEventID == to.LastEventID) {
				return err
			}
		}
		first = false
		if err := p.partitions(ctx, int64(events[0].Seq)); err != nil {
			return err
		}
		return p.apply(ctx, events, to, bad)
	})
	if err != nil {
		return err
	}
	p.at = to
	if p.cfg.Applied != nil {
		p.cfg.Applied(Applied{Seq: uint64(to.Seq), Events: len(events), Took: time.Since(began)})
	}
	return nil
}

// partitions makes the partition of the first event and the next one, in a transaction
// of their own, because making one locks the whole table for a moment.
func (p *Projector) partitions(ctx context.Context, seq int64) error {
	if seq/tables.PartitionWidth == p.part {
		return nil
	}
	err := crash.Around("projections/partitions/make", func() error {
		return pgx.BeginTxFunc(ctx, p.cfg.DB, tables.Writing, func(tx pgx.Tx) error {
			return pgdb.New(tx).MakeEventPartitions(ctx, seq)
		})
	})
	if err != nil {
		return fmt.Errorf("make partitions of the event table: %w", err)
	}
	p.part = seq / tables.PartitionWidth
	return nil
}

// apply is one transaction: it moves the checkpoint, folds the events, writes the rows,
// wakes the readers and commits.
func (p *Projector) apply(ctx context.Context, events []readEvent, to tables.Checkpoint, bad *poison) error {
	tx, err := p.cfg.DB.BeginTx(ctx, tables.Writing)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// After a commit the rollback does nothing.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	q := pgdb.New(tx)
	// A separate statement locks the row, so that the next one counts the held events
	// after other transactions, such as a retry of poison, have released the row.
	if err := q.BeginProjection(ctx, p.at.Name); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	row, err := tables.Move(ctx, q, p.at, to)
	if err != nil {
		return err
	}
	if p.checkpointRow.Generation != 0 && p.checkpointRow.Generation != row.Generation {
		// A rebuild has replaced the tables, so the partitions may be missing in the
		// new ones.
		if err := q.MakeEventPartitions(ctx, int64(events[0].Seq)); err != nil {
			return fmt.Errorf("make partitions of the event table: %w", err)
		}
	}
	ready, held, err := p.splitHeld(ctx, q, events, row.HeldCount, bad)
	if err != nil {
		return err
	}
	f := p.reuseFold(row)
	if err := f.Load(ctx, q, ready); err != nil {
		return err
	}
	for _, r := range ready {
		if err := f.Apply(r, false); err != nil {
			return err
		}
	}
	for _, w := range held {
		if w.row.InHistory {
			if err := f.History(w.Recorded); err != nil {
				return err
			}
		}
	}
	if err := f.Write(ctx, tx, migrations.Live); err != nil {
		return err
	}
	if err := fold.Put(ctx, "poison_event", q.HoldEvents, heldRows(held)); err != nil {
		return err
	}
	if err := q.Notify(ctx, strconv.FormatInt(to.Seq, 10)); err != nil {
		return fmt.Errorf("wake the readers: %w", err)
	}
	if err := crash.Around("projections/apply/commit", func() error { return tx.Commit(ctx) }); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	f.Written(cachedBatches * p.cfg.MaxBatch)
	row.HeldCount += int64(len(held))
	p.lastFold, p.checkpointRow = f, row
	return nil
}

// reuseFold returns the fold of the last transaction, or a new one if that failed or
// another process has written since: a retry of poison, which releases events, or a
// rebuild, which replaces the tables. The checkpoint keeps out all others. Until the
// next commit lastFold is nil.
func (p *Projector) reuseFold(row pgdb.MoveCheckpointRow) *fold.Fold {
	f := p.lastFold
	p.lastFold = nil
	if f == nil || p.checkpointRow != row {
		f = fold.New()
	}
	return f
}
