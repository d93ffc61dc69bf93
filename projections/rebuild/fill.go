package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// fillChunk is how many events are folded at once, and fillMemory how many states of
// each kind are kept between transactions.
const fillChunk, fillMemory = 1000, 200_000

// round is what one transaction writes.
type round struct {
	steps []fold.Step
	to    tables.Checkpoint
}

// fill replays the log into the new tables up to a sequence. Reading and decoding,
// folding, and writing run in parallel; the checkpoint moves with each transaction, so
// that another run can continue there.
func (r *rebuild) fill(ctx context.Context, f *fold.Fold, to uint64) error {
	from := r.at
	if uint64(from.Seq) >= to {
		return nil
	}
	all, ctx := errgroup.WithContext(ctx)
	chunks, rounds := make(chan []domain.Recorded, 8), make(chan round)
	all.Go(func() error {
		defer close(chunks)
		return readChunks(ctx, r.cfg.Source, uint64(from.Seq)+1, to, chunks)
	})
	all.Go(func() error {
		defer close(rounds)
		return r.foldChunks(ctx, f, from, to, chunks, rounds)
	})
	all.Go(func() error {
		for began := time.Now(); ; began = time.Now() {
			next, more := <-rounds
			if !more {
				return nil
			}
			if err := r.write(ctx, next.steps, r.at, next.to); err != nil {
				return err
			}
			r.out.Events, r.out.Seconds = r.out.Events+next.to.Seq-r.at.Seq, r.out.Seconds+time.Since(began).Seconds()
			r.at = next.to
			r.cfg.Progress(replaying(r.out.Events, r.out.Took(), uint64(r.at.Seq), to))
		}
	})
	if err := all.Wait(); err != nil {
		return err
	}
	if uint64(r.at.Seq) < to {
		return fmt.Errorf("the log ended at %d, %d was due", r.at.Seq, to)
	}
	return nil
}

// foldChunks reads the states that it needs from the new tables and folds events into
// rounds of Window events.
func (r *rebuild) foldChunks(ctx context.Context, f *fold.Fold, at tables.Checkpoint, to uint64, chunks <-chan []domain.Recorded, rounds chan<- round) error {
	events := 0
	for chunk := range chunks {
		if err := f.Load(ctx, r.next, chunk); err != nil {
			return err
		}
		for _, e := range chunk {
			if err := f.Apply(e, false); err != nil {
				return fmt.Errorf("%w; the live tables are as they were; `accession rebuild --resume` continues once that is repaired", err)
			}
		}
		last := chunk[len(chunk)-1]
		if events += len(chunk); events < r.cfg.Window && last.Seq < to {
			continue
		}
		at, events = tables.After(at, last), 0
		select {
		case rounds <- round{f.Steps(migrations.Next), at}:
		case <-ctx.Done():
			return ctx.Err()
		}
		f.Written(fillMemory)
	}
	return nil
}

// replaying returns the progress of the replay at a sequence. events and took are those
// of all fills of this run.
func replaying(events int64, took time.Duration, at, to uint64) Progress {
	rate := float64(events) / max(took.Seconds(), 0.001)
	return Progress{Phase: "replay", Seq: at, Last: to, Rate: rate, Left: time.Duration(float64(to-at) / rate * float64(time.Second))}
}

// write puts one round into the new tables and moves their checkpoint.
func (r *rebuild) write(ctx context.Context, steps []fold.Step, from, to tables.Checkpoint) error {
	if from.Seq/tables.PartitionWidth != to.Seq/tables.PartitionWidth || from.Seq == 0 {
		// The last iteration is for the partition of the last event and the one after
		// it, which a projector expects to exist: steps of PartitionWidth may skip
		// them.
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
	q := tables.Queries(tx, migrations.Next)
	if err := q.BeginRebuild(ctx); err != nil {
		return err
	}
	if _, err := tables.Move(ctx, q, from, to); err != nil {
		return err
	}
	if err := fold.WriteAll(ctx, tx, steps); err != nil {
		return err
	}
	return crash.Around("projections/rebuild/commit", func() error { return tx.Commit(ctx) })
}

// readChunks sends the events from one sequence to another in chunks.
func readChunks(ctx context.Context, source projections.Source, from, to uint64, out chan<- []domain.Recorded) error {
	next := from
	chunk := make([]domain.Recorded, 0, fillChunk)
	for e, err := range source(ctx, from) {
		var fault *projections.Unreadable
		switch {
		case errors.As(err, &fault):
			return fold.NewEventError(e, fault)
		case err != nil:
			return err
		case e.Seq != next:
			return fmt.Errorf("event %d came where %d was due: `accession restore log` puts lost events back", e.Seq, next)
		}
		next++
		if chunk = append(chunk, e); len(chunk) < fillChunk && e.Seq < to {
			continue
		}
		select {
		case out <- chunk:
		case <-ctx.Done():
			return ctx.Err()
		}
		if e.Seq >= to {
			return nil
		}
		chunk = make([]domain.Recorded, 0, fillChunk)
	}
	return ctx.Err()
}
