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
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// PoisonEvent is a row of accession.poison_event.
type PoisonEvent = pgdb.AccessionPoisonEvent

// Poison lists up to limit (0 = 100) held events in the order of the log.
func Poison(ctx context.Context, db Reader, limit int) ([]PoisonEvent, error) {
	rows, err := pgdb.New(db).PoisonEvents(ctx, pgdb.PoisonEventsParams{Name: defaultName, MaxRows: atMost(limit)})
	for i := range rows {
		utc(&rows[i].FirstSeen, &rows[i].LastSeen)
	}
	return rows, wrap("list held events", err)
}

// PoisonAt gives the held event at a place of the log, or ErrNotFound.
func PoisonAt(ctx context.Context, db Reader, seq uint64) (PoisonEvent, error) {
	row, err := pgdb.New(db).PoisonEvent(ctx, pgdb.PoisonEventParams{Name: defaultName, Seq: int64(seq)})
	utc(&row.FirstSeen, &row.LastSeen)
	return row, wrap(fmt.Sprintf("event %d", seq), err)
}

// PoisonCount tells how many events are held, of how many aggregates.
type PoisonCount = pgdb.CountPoisonRow

// CountPoison counts what is held.
func CountPoison(ctx context.Context, db Reader) (PoisonCount, error) {
	n, err := pgdb.New(db).CountPoison(ctx, defaultName)
	return n, wrap("count held events", err)
}

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
// the log. Tables of other rules are left as they are: [*MeaningError].
func RetryPoison(ctx context.Context, db DB, source Source, a domain.Aggregate) (Retried, error) {
	out := Retried{Aggregate: a}
	tx, err := db.BeginTx(ctx, writing)
	if err != nil {
		return out, wrap("retry "+a.String(), err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	q := pgdb.New(tx)
	at, err := q.LockCheckpoint(ctx, defaultName)
	if err != nil {
		return out, wrap("lock the checkpoint", err)
	}
	if at.Meaning != Meaning {
		return out, wrap("retry "+a.String(), &MeaningError{Tables: at.Meaning})
	}
	r := retrial{q: q, tx: tx}
	if r.rows, err = q.PoisonEvents(ctx, pgdb.PoisonEventsParams{Name: defaultName, Kind: string(a.Kind), AggregateID: a.ID, MaxRows: math.MaxInt32}); err != nil {
		return out, wrap("read what is held of "+a.String(), err)
	}
	if len(r.rows) == 0 {
		return out, fmt.Errorf("%s is not held: %w", a, ErrNotFound)
	}
	if err = r.read(ctx, source); err == nil {
		out.Applied, out.Err, err = r.apply(ctx)
	}
	if err != nil {
		return out, wrap("retry "+a.String(), err)
	}
	out.Waiting = len(r.rows) - out.Applied
	if err := q.Notify(ctx, strconv.FormatInt(at.Seq, 10)); err != nil {
		return out, wrap("notify", err)
	}
	crash.Point("projections/poison/before-commit")
	err = tx.Commit(ctx)
	crash.Point("projections/poison/after-commit")
	return out, wrap("commit", err)
}

// retrial is the work of [RetryPoison].
type retrial struct {
	q       *pgdb.Queries
	tx      pgx.Tx
	rows    []PoisonEvent
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
func fromLog(ctx context.Context, source Source, row PoisonEvent) (entry, error) {
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
		n, why = bad, eventError(r.entries[bad].Recorded, cause)
	}
	var done []int64
	for _, row := range r.rows[:n] {
		done = append(done, row.Seq)
	}
	if err := r.q.FreeEvents(ctx, pgdb.FreeEventsParams{Name: defaultName, Seqs: done}); err != nil || why == nil {
		return n, nil, err
	}
	first := r.rows[n]
	return n, why, r.q.StillPoison(ctx, pgdb.StillPoisonParams{Name: defaultName, Kind: first.Kind, AggregateID: first.AggregateID, Seq: first.Seq, Error: why.Err.Error()})
}

// fold folds the first n events; bad is the one that could not be.
func (r *retrial) fold(ctx context.Context, n int) (f *fold, bad int, cause, err error) {
	var events []domain.Recorded
	for i, e := range r.entries[:n] {
		if e.fault != nil {
			return nil, i, e.fault, nil
		}
		events = append(events, e.Recorded)
	}
	f = newFold()
	if err := f.load(ctx, r.q, events); err != nil {
		return nil, 0, nil, err
	}
	for i, e := range events {
		if err := f.apply(e, r.rows[i].InHistory); err != nil {
			return nil, i, err, nil
		}
	}
	return f, 0, nil, nil
}

// write writes what was folded, or nothing: cause is what PostgreSQL refuses.
func (r *retrial) write(ctx context.Context, f *fold) (cause, err error) {
	part, err := r.tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	err = f.write(ctx, part, migrations.Live)
	if err == nil {
		return nil, part.Commit(ctx)
	}
	if !poisonous(err) {
		return nil, err
	}
	return err, part.Rollback(ctx)
}

// HeldAggregates lists the aggregates that are held, in the order in which they
// came to be.
func HeldAggregates(ctx context.Context, db Reader) ([]domain.Aggregate, error) {
	rows, err := pgdb.New(db).HeldAggregates(ctx, defaultName)
	var list []domain.Aggregate
	for _, row := range rows {
		list = append(list, domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.AggregateID})
	}
	return list, wrap("list held aggregates", err)
}
