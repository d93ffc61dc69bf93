package rebuild

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// fillChunk is how many events are handed on at once, and fillMemory how many
// states of a sort are remembered between transactions.
const fillChunk, fillMemory = 1000, 200_000

// fill replays the log into the new tables up to a place. Reading and decoding,
// folding, and writing go on at the same time; the checkpoint moves with each
// transaction, so that another run goes on there.
func (r *rebuild) fill(ctx context.Context, f *fold.Fold, to uint64) (err error) {
	if uint64(r.at.Seq) >= to {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	chunks := make(chan chunk, 8)
	defer func() {
		cancel()
		for range chunks { // until the reader has ended
		}
	}()
	go readChunks(ctx, r.cfg.Source, uint64(r.at.Seq)+1, to, chunks)

	writing := make(chan error, 1) // the transaction that is under way
	writing <- nil
	defer func() {
		if under := <-writing; err == nil {
			err = under
		}
	}()
	began := time.Now()
	at, round := r.at, 0
	for c := range chunks {
		if c.err != nil {
			return c.err
		}
		if err := r.fold(ctx, f, c.events); err != nil {
			return err
		}
		last := c.events[len(c.events)-1]
		if round += len(c.events); round < r.cfg.Window && last.Seq < to {
			continue
		}
		if err := <-writing; err != nil {
			writing <- nil
			return err
		}
		r.out.Events, r.out.Took = r.out.Events+at.Seq-r.at.Seq, r.out.Took+time.Since(began)
		r.at, began = at, time.Now()
		at, round = tables.After(at, last), 0
		go r.write(ctx, f.Steps(migrations.Next), r.at, at, writing)
		f.Written(fillMemory)
		r.cfg.Progress(replaying(r.out.Events+at.Seq-r.at.Seq, r.out.Took+time.Since(began), uint64(at.Seq), to))
	}
	if err := <-writing; err != nil {
		writing <- nil
		return err
	}
	writing <- nil
	r.out.Events, r.out.Took = r.out.Events+at.Seq-r.at.Seq, r.out.Took+time.Since(began)
	r.at = at
	if uint64(r.at.Seq) < to {
		return fmt.Errorf("the log ended at %d, %d was due", r.at.Seq, to)
	}
	return nil
}

// replaying tells how far the replay is at a place, from how many events this run has
// replayed, by all its fills, and how long that took.
func replaying(events int64, took time.Duration, at, to uint64) Progress {
	rate := float64(events) / max(took.Seconds(), 0.001)
	return Progress{Phase: "replay", Seq: at, Last: to, Rate: rate, Left: time.Duration(float64(to-at) / rate * float64(time.Second))}
}

// fold applies events in memory, what it needs of the new tables read first.
func (r *rebuild) fold(ctx context.Context, f *fold.Fold, events []domain.Recorded) error {
	if err := f.Load(ctx, r.next, events); err != nil {
		return err
	}
	for _, e := range events {
		if err := f.Apply(e, false); err != nil {
			return fmt.Errorf("%w; the live tables are as they were; `accession rebuild --resume` goes on when that is mended", err)
		}
	}
	return nil
}

// write puts one round into the new tables and moves their checkpoint.
func (r *rebuild) write(ctx context.Context, steps []fold.Step, from, to tables.Checkpoint, done chan<- error) {
	done <- func() error {
		if from.Seq/tables.PartitionWidth != to.Seq/tables.PartitionWidth || from.Seq == 0 {
			// Steps of a width may pass over the partition of the last place, and so
			// over the one behind it, which a projector takes to be there.
			for seq := from.Seq; ; seq = min(seq+tables.PartitionWidth, to.Seq) {
				if err := r.next.MakeEventPartitions(ctx, seq); err != nil {
					return fmt.Errorf("make partitions: %w", err)
				}
				if seq == to.Seq {
					break
				}
			}
		}
		tx, err := r.cfg.Pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		// The tables can be made anew: no need to wait for the disk each time.
		if _, err := tx.Exec(ctx, fold.PlannerSettings+", set_config('synchronous_commit', 'off', true)"); err != nil {
			return err
		}
		if _, err := tables.Move(ctx, tables.Queries(tx, migrations.Next), from, to); err != nil {
			return err
		}
		if err := fold.WriteAll(ctx, tx, steps); err != nil {
			return err
		}
		return crash.Around("projections/rebuild/commit", func() error { return tx.Commit(ctx) })
	}()
}

// chunk is some events in a row, or why there are no more.
type chunk struct {
	events []domain.Recorded
	err    error
}

// readChunks hands on the events from one place to another and closes the channel.
func readChunks(ctx context.Context, source projections.Source, from, to uint64, out chan<- chunk) {
	defer close(out)
	send := func(c chunk) bool {
		select {
		case out <- c:
			return true
		case <-ctx.Done():
			return false
		}
	}
	events := make([]domain.Recorded, 0, fillChunk)
	next := from
	for e, err := range limit(source(ctx, from), to) {
		var fault *projections.Unreadable
		switch {
		case errors.As(err, &fault):
			err = fold.NewEventError(e, fault)
		case err == nil && e.Seq != next:
			err = fmt.Errorf("event %d came where %d was due: `accession restore log` puts lost events back", e.Seq, next)
		}
		if err != nil {
			if len(events) > 0 && !send(chunk{events: events}) {
				return
			}
			send(chunk{err: err})
			return
		}
		next++
		if events = append(events, e); len(events) == fillChunk {
			if !send(chunk{events: events}) {
				return
			}
			events = make([]domain.Recorded, 0, fillChunk)
		}
	}
	if len(events) > 0 {
		send(chunk{events: events})
	}
	if ctx.Err() != nil {
		return
	}
}

// limit ends a source behind a place.
func limit(source iter.Seq2[domain.Recorded, error], to uint64) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		for e, err := range source {
			if !yield(e, err) || e.Seq >= to {
				return
			}
		}
	}
}
