package projections

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// partitionWidth is the number of places in a partition of the event table, as in
// accession.make_event_partitions.
const partitionWidth = 1_000_000

// project applies events in one transaction, again and again while PostgreSQL is
// away. When the answer to a commit was lost, the checkpoint tells whether it
// happened.
func (p *Projector) project(ctx context.Context, events []domain.Recorded) error {
	to := p.after(events)
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
		return p.apply(ctx, events, to)
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

// partitions has the partition of the first event and the next one made, in a
// transaction of its own: making one locks the whole table for a moment.
func (p *Projector) partitions(ctx context.Context, seq int64) error {
	if seq/partitionWidth == p.part {
		return nil
	}
	if err := p.q.MakeEventPartitions(ctx, seq); err != nil {
		return fmt.Errorf("make partitions of the event table: %w", err)
	}
	p.part = seq / partitionWidth
	return nil
}

func (p *Projector) apply(ctx context.Context, events []domain.Recorded, to pgdb.AccessionCheckpoint) error {
	tx, err := p.cfg.DB.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// After a commit this does nothing.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	q := pgdb.New(tx)
	if err := p.fence(ctx, q, to); err != nil {
		return err
	}
	f, err := load(ctx, q, events)
	if err != nil {
		return err
	}
	for _, r := range events {
		if err := f.apply(r); err != nil {
			return &EventError{Seq: r.Seq, ID: r.ID(), Type: r.Type, Err: err}
		}
	}
	if err := f.write(ctx, q); err != nil {
		return err
	}
	if err := q.Notify(ctx, strconv.FormatInt(to.Seq, 10)); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// put writes rows in one statement, as one JSON array; no rows, no statement.
func put[R any](ctx context.Context, what string, write func(context.Context, []byte) error, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	data, err := json.Marshal(rows)
	if err == nil {
		err = write(ctx, data)
	}
	if err != nil {
		return fmt.Errorf("write %d rows of %s: %w", len(rows), what, err)
	}
	return nil
}
