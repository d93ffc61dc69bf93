package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Retried tells what became of an aggregate that was held.
type Retried struct {
	Aggregate domain.Aggregate
	Applied   int         // events that are applied now
	Waiting   int         // events that are still held
	Err       *EventError // why, nil = none is
}

// RetryPoison applies the held events of an aggregate, in their order, as far as
// that goes, in one transaction: the projector waits meanwhile and then goes on
// with the aggregate. The events come from the history, those that it lacks from
// the log. Tables of other rules are left as they are: [*VersionError].
func RetryPoison(ctx context.Context, db DB, source Source, a domain.Aggregate) (Retried, error) {
	out, err := retryPoison(ctx, db, source, a)
	if err != nil {
		return out, fmt.Errorf("retry %s: %w", a, err)
	}
	return out, nil
}

func retryPoison(ctx context.Context, db DB, source Source, a domain.Aggregate) (out Retried, err error) {
	out.Aggregate = a
	tx, err := db.BeginTx(ctx, tables.Writing)
	if err != nil {
		return out, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	r := retrial{q: pgdb.New(tx), tx: tx}
	at, err := r.q.LockCheckpoint(ctx, tables.Main)
	if err != nil {
		return out, fmt.Errorf("lock the checkpoint: %w", err)
	}
	if at.Meaning != Version {
		return out, &VersionError{Tables: at.Meaning}
	}
	r.rows, err = r.q.PoisonEvents(ctx, pgdb.PoisonEventsParams{Name: tables.Main, Kind: string(a.Kind), AggregateID: a.ID, MaxRows: math.MaxInt32})
	if err == nil && len(r.rows) == 0 {
		err = fmt.Errorf("it is not held: %w", tables.ErrNotFound)
	}
	if err == nil {
		err = r.read(ctx, source)
	}
	if err == nil {
		out.Applied, out.Err, err = r.apply(ctx)
	}
	if err != nil {
		return out, err
	}
	out.Waiting = len(r.rows) - out.Applied
	if err := r.q.Notify(ctx, strconv.FormatInt(at.Seq, 10)); err != nil {
		return out, fmt.Errorf("notify: %w", err)
	}
	return out, crash.Around("projections/poison/commit", func() error { return tx.Commit(ctx) })
}

// retrial is the work of [RetryPoison].
type retrial struct {
	q       *pgdb.Queries
	tx      pgx.Tx
	rows    []pgdb.AccessionPoisonEvent
	entries []entry // of each row
}

// read finds the events of the rows.
func (r *retrial) read(ctx context.Context, source Source) error {
	var seqs []int64
	for _, row := range r.rows {
		seqs = append(seqs, row.Seq)
	}
	known, err := r.q.EventsAt(ctx, seqs)
	if err != nil {
		return err
	}
	history := make(map[int64]pgdb.AccessionEvent, len(known))
	for _, e := range known {
		history[e.Seq] = e
	}
	for _, row := range r.rows {
		var e entry
		if at, ok := history[row.Seq]; ok && row.InHistory {
			e.Recorded, err = recordedOf(at)
		} else {
			e, err = fromLog(ctx, source, row)
		}
		if err != nil {
			return err
		}
		r.entries = append(r.entries, e)
	}
	return nil
}

// fromLog reads one event from the log.
func fromLog(ctx context.Context, source Source, row pgdb.AccessionPoisonEvent) (entry, error) {
	for e, err := range source(ctx, uint64(row.Seq)) {
		var fault *Unreadable
		if errors.As(err, &fault) {
			err = nil
		}
		if err == nil && (e.Seq != uint64(row.Seq) || string(e.Aggregate.Kind) != row.Kind || e.Aggregate.ID != row.AggregateID) {
			err = fmt.Errorf("the log has %s at place %d, not %s", e.ID(), e.Seq, row.ID)
		}
		return entry{e, fault}, err
	}
	return entry{}, fmt.Errorf("the log has no event at place %d", row.Seq)
}

// recordedOf gives an event as the history has it.
func recordedOf(row pgdb.AccessionEvent) (domain.Recorded, error) {
	def, ok := domain.Lookup(domain.EventType(row.Type))
	if !ok {
		return domain.Recorded{}, fmt.Errorf("event %d has the unknown type %s", row.Seq, row.Type)
	}
	r := domain.Recorded{
		Event: domain.Event{Type: def.Type, Aggregate: domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.AggregateID}, Version: row.Version, Data: def.New()},
		Time:  domain.At(row.Time), BatchID: domain.BatchID(row.BatchID), Actor: domain.Actor(row.Actor),
		CommandID: row.CommandID, CausationID: row.CausationID, TraceParent: row.TraceParent,
		Zxid: row.Zxid, Epoch: row.Epoch, Seq: uint64(row.Seq), Stored: row.Stored,
	}
	if err := json.Unmarshal(row.Data, r.Data); err != nil {
		return r, fmt.Errorf("data of event %d in the history: %w", row.Seq, err)
	}
	return r, nil
}

// apply applies as many of the events as it can and tells how many that were, and
// why not all.
func (r *retrial) apply(ctx context.Context) (n int, why *EventError, err error) {
	for n = len(r.entries); n > 0; {
		f, bad, cause, err := r.fold(ctx, n)
		if err != nil {
			return 0, nil, err
		}
		if cause == nil {
			bad = n / 2
			cause, err = r.write(ctx, f)
		}
		if err != nil {
			return 0, nil, err
		}
		if cause == nil {
			break
		}
		n, why = bad, fold.NewEventError(r.entries[bad].Recorded, cause)
	}
	var done []int64
	for _, row := range r.rows[:n] {
		done = append(done, row.Seq)
	}
	if err := r.q.FreeEvents(ctx, pgdb.FreeEventsParams{Name: tables.Main, Seqs: done}); err != nil || why == nil {
		return n, nil, err
	}
	first := r.rows[n]
	return n, why, r.q.StillPoison(ctx, pgdb.StillPoisonParams{Name: tables.Main, Kind: first.Kind, AggregateID: first.AggregateID, Seq: first.Seq, Error: why.Err.Error()})
}

// fold folds the first n events; bad is the one that could not be.
func (r *retrial) fold(ctx context.Context, n int) (f *fold.Fold, bad int, cause, err error) {
	var events []domain.Recorded
	for i, e := range r.entries[:n] {
		if e.fault != nil {
			return nil, i, e.fault, nil
		}
		events = append(events, e.Recorded)
	}
	f = fold.New()
	if err := f.Load(ctx, r.q, events); err != nil {
		return nil, 0, nil, err
	}
	for i, e := range events {
		if err := f.Apply(e, r.rows[i].InHistory); err != nil {
			return nil, i, err, nil
		}
	}
	return f, 0, nil, nil
}

// write writes what was folded, or nothing: cause is what PostgreSQL refuses.
func (r *retrial) write(ctx context.Context, f *fold.Fold) (cause, err error) {
	part, err := r.tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	err = f.Write(ctx, part, migrations.Live)
	if err == nil {
		return nil, part.Commit(ctx)
	}
	if !poisonous(err) {
		return nil, err
	}
	return err, part.Rollback(ctx)
}
