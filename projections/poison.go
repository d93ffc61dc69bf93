package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Unreadable is the error that a [Source] gives with an event that it cannot read
// but whose place and aggregate it knows; it then goes on behind it.
type Unreadable struct {
	Data []byte // as it lies in the log
	Err  error
}

// Error implements error.
func (e *Unreadable) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Unreadable) Unwrap() error { return e.Err }

// entry is an event of the log, or what could be read of it.
type entry struct {
	domain.Recorded
	fault *Unreadable // nil = it could be read
}

// poisonous tells an error that this event will give again from one that another
// program, another database or another try would not give.
func poisonous(err error) bool {
	var event *EventError
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code[:2] {
		case "22", "23", "54": // data, constraint, limit
			return true
		}
		return false
	}
	return errors.As(err, &event)
}

// careful applies events that could not be applied together: those before and
// behind a poison event all the same, and holds its aggregate.
func (p *Projector) careful(ctx context.Context, entries []entry, err error) error {
	for tries := 1; len(entries) == 1; tries++ {
		if tries == p.cfg.PoisonTries {
			return p.hold(ctx, entries[0], err, tries)
		}
		if err := p.pause(ctx, p.cfg.RetryDelay<<(tries-1)); err != nil {
			return err
		}
		if err = p.project(ctx, entries, nil); err == nil || !poisonous(err) {
			return err
		}
	}
	cut := len(entries) / 2
	var event *EventError
	if errors.As(err, &event) { // it says where
		for i, e := range entries {
			if e.Seq == event.Seq {
				cut = max(i, 1)
			}
		}
	}
	for _, part := range [][]entry{entries[:cut], entries[cut:]} {
		if err := p.project(ctx, part, nil); err != nil {
			if !poisonous(err) {
				return err
			}
			if err := p.careful(ctx, part, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold notes an event as poison and moves on behind it.
func (p *Projector) hold(ctx context.Context, e entry, cause error, tries int) error {
	var event *EventError
	ours := errors.As(cause, &event)
	if !ours {
		event = fold.NewEventError(e.Recorded, cause)
	}
	err := p.project(ctx, []entry{e}, &poison{
		error: event.Err.Error(), tries: tries,
		inHistory: e.fault == nil && ours, // what PostgreSQL refused may be the row itself
	})
	if err == nil && p.cfg.Held != nil {
		p.cfg.Held(event)
	}
	return err
}

// poison says why the only event of a transaction cannot be applied.
type poison struct {
	error     string
	tries     int
	inHistory bool
}

// waiting is an event that is held, with the row that says so.
type waiting struct {
	entry
	row pgdb.AccessionPoisonEvent
}

func rowsOf(list []waiting) (rows []pgdb.AccessionPoisonEvent) {
	for _, w := range list {
		rows = append(rows, w.row)
	}
	return rows
}

// divide splits events into those that can be applied and those that are held:
// poison itself, and what waits for an aggregate that is held already.
func (p *Projector) divide(ctx context.Context, q *pgdb.Queries, entries []entry, held int64, bad *poison) (free []domain.Recorded, kept []waiting, err error) {
	behind := map[domain.Aggregate]int64{}
	if held > 0 {
		rows, err := q.HeldAggregates(ctx, p.at.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("read which aggregates are held: %w", err)
		}
		for _, row := range rows {
			behind[domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.AggregateID}] = row.Seq
		}
	}
	free = make([]domain.Recorded, 0, len(entries))
	for _, e := range entries {
		seq, waits := behind[e.Aggregate]
		if bad == nil && !waits {
			if e.fault != nil {
				return nil, nil, fold.NewEventError(e.Recorded, e.fault)
			}
			free = append(free, e.Recorded)
			continue
		}
		row := p.poisonRow(e)
		if waits {
			row.WaitsFor = &seq
		}
		if bad != nil {
			row.Error, row.Attempts, row.InHistory = bad.error, int64(bad.tries), bad.inHistory
		}
		kept = append(kept, waiting{e, row})
	}
	return free, kept, nil
}

func (p *Projector) poisonRow(e entry) pgdb.AccessionPoisonEvent {
	row := pgdb.AccessionPoisonEvent{
		Name: p.at.Name, Seq: int64(e.Seq), ID: e.ID(), Type: string(e.Type), Kind: string(e.Aggregate.Kind),
		AggregateID: e.Aggregate.ID, Version: e.Version, BatchID: string(e.BatchID), InHistory: e.fault == nil,
	}
	if e.fault != nil {
		row.Data, row.Error = readable(e.fault.Data), e.fault.Error()
	} else if data, err := json.Marshal(e.Data); err == nil {
		row.Data = readable(data)
	}
	return row
}

// pause waits, unless ctx ends.
func (p *Projector) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readable gives bytes as text that PostgreSQL takes.
func readable(data []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\x00", "\uFFFD")
}
