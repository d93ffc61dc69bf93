package eventstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/entry"
)

// Load is how much of the live state is in use.
type Load struct {
	Unsent  int                     // nodes of the outbox that are not in the log
	Queues  map[domain.JobState]int // jobs by state
	Batches int                     // all of them
	Queries int                     // all of them
	Entries int                     // of the compute queue, that are not purged
	Unended int                     // batches and queries that have not ended; all below the limit
	Jobs    int                     // all of them, also those that have left their queue
	Heap    int64                   // bytes of the server's heap that all of these take, estimated
}

// Level is how full the outbox is.
type Level int

// The levels. Each allows less than the one before.
const (
	LevelOpen Level = iota // everything is allowed
	LevelWarn              // operators are warned
	LevelFull              // no new deposits
	LevelStop              // no claims and no transitions
)

// String returns the level in one word.
func (l Level) String() string {
	return [...]string{"open", "warn", "full", "stop"}[min(max(l, LevelOpen), LevelStop)]
}

// Limits hold the number of unsent outbox nodes at which each level begins. Queue
// limits how many jobs may be in one state, and how many batches and queries there may be
// together, before deposits are refused; what has ended does not count. Heap limits how many
// bytes of the server's heap they and the outbox may take, 0 = any number: beyond it the
// server would do little but collect garbage.
type Limits struct {
	Warn, Full, Stop, Queue int
	Heap                    int64
}

// Pressure keeps the live state from growing without bound while the log is away or
// work does not keep up. It measures the load at intervals, sooner the nearer a limit
// is, and decides what has to wait: first deposits, at last everything. Writes that
// have begun may exceed a limit by a little. It is safe for concurrent use.
type Pressure struct {
	Measure func(ctx context.Context) (Load, error)
	Limits  Limits
	Log     *slog.Logger

	measuring sync.Mutex // held by the goroutine that measures
	mu        sync.Mutex
	level     Level
	load      Load
	at        time.Time // of the last measurement
	budget    int       // writes until the next one
}

// The pauses between two measurements, and when a refused caller may try again.
const (
	measureEvery = 500 * time.Millisecond
	waitEvery    = 500 * time.Millisecond
	RetryOutbox  = 30 * time.Second
	RetryQueue   = time.Minute
)

// FullError says which limit is reached. It is [ErrFull].
type FullError struct {
	What      string // of which there are too many
	Have, Max int
	After     time.Duration // when it is worth trying again
	Remedy    string        // what else can be done, "" = nothing but waiting
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("there are %d %s, and at %d nothing more is taken", e.Have, e.What, e.Max)
}

// Unwrap returns ErrFull.
func (e *FullError) Unwrap() error { return ErrFull }

// Level returns the level at the last measurement.
func (p *Pressure) Level() Level {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.level
}

// Deposit measures again and refuses a deposit for which there is no room.
func (p *Pressure) Deposit(ctx context.Context) error {
	p.measuring.Lock()
	err := p.measure(ctx)
	p.measuring.Unlock()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.room()
}

func (p *Pressure) room() error {
	if p.level >= LevelFull {
		return p.outbox(p.Limits.Full)
	}
	if p.load.Unended >= p.Limits.Queue {
		return &FullError{What: "batches and queries that have not ended", Have: p.load.Unended, Max: p.Limits.Queue, After: RetryQueue}
	}
	if most := p.Limits.Heap; most > 0 && p.load.Heap >= most {
		return &FullError{What: fmt.Sprintf("MiB of ZooKeeper's heap taken by %d batches, %d queries and %d jobs, finished ones included,", p.load.Batches, p.load.Queries, p.load.Jobs),
			Have: int(p.load.Heap >> 20), Max: int(most >> 20), After: RetryQueue, Remedy: remedyHeap}
	}
	for _, s := range domain.JobStates {
		if n := p.load.Queues[s]; s.Sub() == domain.SubProcessing && n >= p.Limits.Queue {
			return &FullError{What: "jobs " + string(s), Have: n, Max: p.Limits.Queue, After: RetryQueue}
		}
	}
	return nil
}

const remedyHeap = "completed batches go after `retention`, or at once by `accession batch cleanup`, failed ones by `accession batch delete`; more fit if ZooKeeper gets a larger heap and zookeeper_heap says so"

func (p *Pressure) outbox(most int) error {
	return &FullError{What: "decisions in the outbox that the log does not have yet", Have: p.load.Unsent, Max: most, After: RetryOutbox}
}

// Admit refuses changes for which there is no room. Holds and pauses are always
// let through: an operator needs them to repair things.
func (p *Pressure) Admit(ctx context.Context, changes []Change) error {
	deposit := slices.ContainsFunc(changes, func(c Change) bool {
		return c.Batch != nil && c.Batch.From.State == "" || c.Query != nil && c.Query.From.State == asked.None || c.Entry != nil && c.Entry.From.State == entry.None
	})
	stoppable := slices.ContainsFunc(changes, func(c Change) bool { return c.Setting == nil })
	// What cannot be measured is not full: the write itself will fail.
	_ = p.count(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case stoppable && p.level >= LevelStop:
		return p.outbox(p.Limits.Stop)
	case deposit:
		return p.room()
	}
	return nil
}

// Wait returns when claims may be made, or ctx ends.
func (p *Pressure) Wait(ctx context.Context) error {
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for {
		_ = p.glance(ctx)
		if p.Level() < LevelStop {
			return ctx.Err()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// glance measures the load again if the last measurement is old. One goroutine
// measures, the others use the last one.
func (p *Pressure) glance(ctx context.Context) error {
	p.mu.Lock()
	due := p.at.IsZero() || time.Since(p.at) >= measureEvery
	p.mu.Unlock()
	if !due || !p.measuring.TryLock() {
		return nil
	}
	defer p.measuring.Unlock()
	return p.measure(ctx)
}

// count counts a write. When the writes since the last measurement may have reached a
// limit, all writers wait for a new measurement.
func (p *Pressure) count(ctx context.Context) error {
	if !p.spent() {
		return p.glance(ctx)
	}
	p.measuring.Lock()
	defer p.measuring.Unlock()
	if !p.spent() { // another goroutine measured in the meantime
		return nil
	}
	return p.measure(ctx)
}

// spent takes one of the writes that may be made before the next measurement, and
// reports whether none was left. At the last level nothing is written anyway.
func (p *Pressure) spent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget--
	return p.budget < 0 && p.level < LevelStop
}

// measure asks for the load. The caller holds measuring.
func (p *Pressure) measure(ctx context.Context) error {
	load, err := p.Measure(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	level, next := p.levelOf(load.Unsent)
	if level != p.level {
		p.report(level, load.Unsent)
	}
	p.level, p.load, p.at, p.budget = level, load, time.Now(), (next-load.Unsent)/8
	return nil
}

// levelOf returns the level for a number of unsent nodes, and where the next level
// begins.
func (p *Pressure) levelOf(unsent int) (level Level, next int) {
	for _, l := range []struct {
		level Level
		from  int
	}{{LevelStop, p.Limits.Stop}, {LevelFull, p.Limits.Full}, {LevelWarn, p.Limits.Warn}} {
		if unsent >= l.from {
			return l.level, max(next, unsent)
		}
		next = l.from
	}
	return LevelOpen, next
}

func (p *Pressure) report(to Level, unsent int) {
	log := p.Log.With("unsent", unsent, "was", p.level.String(), "level", to.String())
	switch {
	case to == LevelStop:
		log.Error("the outbox is full: nothing is claimed or changed until the log takes events again; nothing is lost", "outbox_stop", p.Limits.Stop)
	case to == LevelFull && to > p.level:
		log.Error("the outbox fills: no deposits are taken; jobs go on", "outbox_full", p.Limits.Full)
	case to == LevelWarn && to > p.level:
		log.Warn("events wait in the outbox: is NATS there, and does a relay run?", "outbox_warn", p.Limits.Warn)
	default:
		log.Info("the outbox empties")
	}
}
