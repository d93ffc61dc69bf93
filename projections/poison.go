package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Unreadable is the error that a [Source] returns with an event that it cannot read but
// whose sequence and aggregate it knows; it then continues after it.
type Unreadable struct {
	Data []byte // as it is in the log
	Err  error
}

// Error implements error.
func (e *Unreadable) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unreadable) Unwrap() error { return e.Err }

// readEvent is an event of the log, or what could be read of it.
type readEvent struct {
	domain.Recorded
	fault *Unreadable // nil = it could be read
}

// poisonous reports whether this event will cause the error again, in any program and
// database.
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

// isolatePoison applies events that could not be applied in one transaction: it halves
// them until it has found each poison event, holds its aggregate, and applies the others.
func (p *Projector) isolatePoison(ctx context.Context, events []readEvent, err error) error {
	delays := p.delays()
	for tries := 1; len(events) == 1; tries++ {
		if tries == p.cfg.PoisonTries {
			return p.hold(ctx, events[0], err, tries)
		}
		if err := p.pause(ctx, delays.NextBackOff()); err != nil {
			return err
		}
		if err = p.project(ctx, events, nil); err == nil || !poisonous(err) {
			return err
		}
	}
	cut := len(events) / 2
	var event *EventError
	if errors.As(err, &event) { // it names the event
		for i, e := range events {
			if e.Seq == event.Seq {
				cut = max(i, 1)
			}
		}
	}
	for _, part := range [][]readEvent{events[:cut], events[cut:]} {
		if err := p.project(ctx, part, nil); err != nil {
			if !poisonous(err) {
				return err
			}
			if err := p.isolatePoison(ctx, part, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold records an event as poison and moves the checkpoint past it.
func (p *Projector) hold(ctx context.Context, e readEvent, cause error, tries int) error {
	var event *EventError
	refusedByFold := errors.As(cause, &event)
	if !refusedByFold {
		event = fold.NewEventError(e.Recorded, cause)
	}
	err := p.project(ctx, []readEvent{e}, &poison{
		error: event.Err.Error(), tries: tries,
		inHistory: e.fault == nil && refusedByFold, // what PostgreSQL refused may be the row itself
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

// heldEvent is an event that is held, with the row that says so.
type heldEvent struct {
	readEvent
	row pgdb.AccessionPoisonEvent
}

func heldRows(list []heldEvent) (rows []pgdb.AccessionPoisonEvent) {
	for _, w := range list {
		rows = append(rows, w.row)
	}
	return rows
}

// splitHeld splits events into those that can be applied and those that are held: the
// poison event itself, and those of aggregates that are held already.
func (p *Projector) splitHeld(ctx context.Context, q *pgdb.Queries, events []readEvent, heldCount int64, bad *poison) (ready []domain.Recorded, held []heldEvent, err error) {
	poisonSeq := map[domain.Aggregate]int64{}
	if heldCount > 0 {
		rows, err := q.HeldAggregates(ctx, p.at.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("read which aggregates are held: %w", err)
		}
		for _, row := range rows {
			poisonSeq[domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.AggregateID}] = row.Seq
		}
	}
	ready = make([]domain.Recorded, 0, len(events))
	for _, e := range events {
		seq, isHeld := poisonSeq[e.Aggregate]
		if bad == nil && !isHeld {
			if e.fault != nil {
				return nil, nil, fold.NewEventError(e.Recorded, e.fault)
			}
			ready = append(ready, e.Recorded)
			continue
		}
		row := p.poisonRow(e)
		if isHeld {
			row.WaitsFor = &seq
		}
		if bad != nil {
			row.Error, row.Attempts, row.InHistory = bad.error, int64(bad.tries), bad.inHistory
		}
		held = append(held, heldEvent{e, row})
	}
	return ready, held, nil
}

func (p *Projector) poisonRow(e readEvent) pgdb.AccessionPoisonEvent {
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

// delays returns the pauses between tries, which double up to 5 s.
func (p *Projector) delays() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: p.cfg.RetryDelay, Multiplier: 2, MaxInterval: maxRetryDelay}
}

// pause waits for a time or until ctx ends.
func (p *Projector) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readable returns bytes as text that PostgreSQL takes.
func readable(data []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\x00", "\uFFFD")
}

// Retried is the result of a retry for an aggregate that was held.
type Retried struct {
	Aggregate domain.Aggregate
	Applied   int         // events that are applied now
	Waiting   int         // events that are still held
	Err       *EventError // why, nil = none is
}

// RetryPoison applies the held events of an aggregate in order, up to the first that
// cannot be applied, in one transaction. The projector waits meanwhile and then
// continues with the aggregate. The events are read from the history, those that it
// lacks from the log. Tables that were made by other rules are not changed:
// [*VersionError].
func RetryPoison(ctx context.Context, db DB, source Source, a domain.Aggregate) (Retried, error) {
	return retryPoison(ctx, db, source, a, true)
}

// TryPoison returns what [RetryPoison] would do, and changes nothing.
func TryPoison(ctx context.Context, db DB, source Source, a domain.Aggregate) (Retried, error) {
	return retryPoison(ctx, db, source, a, false)
}

func retryPoison(ctx context.Context, db DB, source Source, a domain.Aggregate, keep bool) (out Retried, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("retry %s: %w", a, err)
		}
	}()
	out.Aggregate = a
	tx, err := db.BeginTx(ctx, tables.Writing)
	if err != nil {
		return out, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	r := poisonRetry{q: pgdb.New(tx), tx: tx}
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
	if out.Waiting = len(r.rows) - out.Applied; !keep {
		return out, nil // what was done is rolled back
	}
	if err := r.q.Notify(ctx, strconv.FormatInt(at.Seq, 10)); err != nil {
		return out, fmt.Errorf("wake the readers: %w", err)
	}
	return out, crash.Around("projections/poison/commit", func() error { return tx.Commit(ctx) })
}

// poisonRetry is the work of [RetryPoison].
type poisonRetry struct {
	q      *pgdb.Queries
	tx     pgx.Tx
	rows   []pgdb.AccessionPoisonEvent
	events []readEvent // of each row
}

// read finds the events of the rows.
func (r *poisonRetry) read(ctx context.Context, source Source) error {
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
		var e readEvent
		if at, ok := history[row.Seq]; ok && row.InHistory {
			e.Recorded, err = recordedOf(at)
		} else {
			e, err = fromLog(ctx, source, row)
		}
		if err != nil {
			return err
		}
		r.events = append(r.events, e)
	}
	return nil
}

// fromLog reads one event from the log.
func fromLog(ctx context.Context, source Source, row pgdb.AccessionPoisonEvent) (readEvent, error) {
	for e, err := range source(ctx, uint64(row.Seq)) {
		var fault *Unreadable
		if errors.As(err, &fault) {
			err = nil
		}
		if err == nil && (e.Seq != uint64(row.Seq) || string(e.Aggregate.Kind) != row.Kind || e.Aggregate.ID != row.AggregateID) {
			err = fmt.Errorf("the log has %s at sequence %d, not %s", e.ID(), e.Seq, row.ID)
		}
		return readEvent{e, fault}, err
	}
	return readEvent{}, fmt.Errorf("the log has no event at sequence %d", row.Seq)
}

// recordedOf returns an event as the history has it.
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

// apply applies as many of the events as it can and returns how many that were, and
// why not all.
func (r *poisonRetry) apply(ctx context.Context) (n int, why *EventError, err error) {
	for n = len(r.events); n > 0; {
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
		n, why = bad, fold.NewEventError(r.events[bad].Recorded, cause)
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

// fold folds the first n events; bad is the index of the one that could not be folded.
func (r *poisonRetry) fold(ctx context.Context, n int) (f *fold.Fold, bad int, cause, err error) {
	var events []domain.Recorded
	for i, e := range r.events[:n] {
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
func (r *poisonRetry) write(ctx context.Context, f *fold.Fold) (cause, err error) {
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
