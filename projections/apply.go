package projections

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// project applies events in one transaction, again and again while PostgreSQL is
// away. When the answer to a commit was lost, the checkpoint reports whether it
// happened. bad says that the only event is poison.
func (p *Projector) project(ctx context.Context, entries []entry, bad *poison) error {
	to := tables.After(p.at, entries[len(entries)-1].Recorded)
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
		if err := p.partitions(ctx, int64(entries[0].Seq)); err != nil {
			return err
		}
		return p.apply(ctx, entries, to, bad)
	})
	if err != nil {
		return err
	}
	p.at = to
	if p.cfg.Applied != nil {
		p.cfg.Applied(Applied{Seq: uint64(to.Seq), Events: len(entries), Took: time.Since(began)})
	}
	return nil
}

// partitions has the partition of the first event and the next one made, in a
// transaction of its own: making one locks the whole table for a moment.
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

func (p *Projector) apply(ctx context.Context, entries []entry, to tables.Checkpoint, bad *poison) error {
	tx, err := p.cfg.DB.BeginTx(ctx, tables.Writing)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// After a commit this does nothing.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// A projector that stands still must not keep the next one waiting. The row is
	// locked by a statement of its own, so that the fence counts what is held as it is
	// when others, a retry of poison above all, have let go of the row.
	if _, err := tx.Exec(ctx, fold.PlannerSettings+", set_config('idle_in_transaction_session_timeout', '5s', true)"+
		" from accession.checkpoint where name = $1 for no key update", p.at.Name); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	q := pgdb.New(tx)
	under, err := tables.Move(ctx, q, p.at, to)
	if err != nil {
		return err
	}
	if p.under.Generation != 0 && p.under.Generation != under.Generation {
		// A rebuild has put other tables there: what was made before was made in the old.
		if err := q.MakeEventPartitions(ctx, int64(entries[0].Seq)); err != nil {
			return fmt.Errorf("make partitions of the event table: %w", err)
		}
	}
	free, waiting, err := p.divide(ctx, q, entries, under.Held, bad)
	if err != nil {
		return err
	}
	f := p.recall(under)
	if err := f.Load(ctx, q, free); err != nil {
		return err
	}
	for _, r := range free {
		if err := f.Apply(r, false); err != nil {
			return err
		}
	}
	for _, w := range waiting {
		if w.row.InHistory {
			if err := f.History(w.Recorded); err != nil {
				return err
			}
		}
	}
	if err := f.Write(ctx, tx, migrations.Live); err != nil {
		return err
	}
	if err := fold.Put(ctx, "poison_event", q.HoldEvents, rowsOf(waiting)); err != nil {
		return err
	}
	if err := q.Notify(ctx, strconv.FormatInt(to.Seq, 10)); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	if err := crash.Around("projections/apply/commit", func() error { return tx.Commit(ctx) }); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	f.Written(memory * p.cfg.MaxBatch)
	under.Held += int64(len(waiting))
	p.known, p.under = f, under
	return nil
}

// recall returns the states that the last transaction left, or none: when it failed,
// and when another process has written since. That is a retry of poison, which frees
// events, or a rebuild, which puts other tables there; the fence stops all others.
// Until the commit nothing is known.
func (p *Projector) recall(under pgdb.MoveCheckpointRow) *fold.Fold {
	f := p.known
	p.known = nil
	if f == nil || p.under != under {
		f = fold.New()
	}
	return f
}
