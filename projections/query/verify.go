package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Tables reads the rows that are compared with the log; they are consistent if DB is a
// snapshot. Rows come in the order of their keys, after the given one, at most limit.
type Tables struct{ DB pgdb.DBTX }

// ReadTables calls do to read the tables as they are at one moment.
func ReadTables(ctx context.Context, db DB, do func(Tables) error) error {
	tx, err := db.BeginTx(ctx, tables.Snapshot)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	return do(Tables{tx})
}

func pageOf[R, S any](rows []R, err error, to func(R) (S, error)) ([]S, error) {
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	out := make([]S, len(rows))
	for i, r := range rows {
		if out[i], err = to(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Batches returns batches as the fold left them.
func (t Tables) Batches(ctx context.Context, after string, limit int) ([]domain.Batch, error) {
	rows, err := pgdb.New(t.DB).BatchesAfter(ctx, pgdb.BatchesAfterParams{After: after, MaxRows: int32(limit)})
	return pageOf(rows, err, fold.BatchOf)
}

// Jobs returns jobs as the fold left them.
func (t Tables) Jobs(ctx context.Context, after string, limit int) ([]domain.Job, error) {
	rows, err := pgdb.New(t.DB).JobsAfter(ctx, pgdb.JobsAfterParams{After: after, MaxRows: int32(limit)})
	return pageOf(rows, err, fold.JobOf)
}

// Files returns files as the fold left them.
func (t Tables) Files(ctx context.Context, after string, limit int) ([]domain.File, error) {
	rows, err := pgdb.New(t.DB).FilesAfter(ctx, pgdb.FilesAfterParams{After: after, MaxRows: int32(limit)})
	return pageOf(rows, err, func(r pgdb.AccessionFile) (domain.File, error) { return fold.FileOf(r), nil })
}

// Queries returns queries as the fold left them.
func (t Tables) Queries(ctx context.Context, after string, limit int) ([]lookup.Query, error) {
	rows, err := pgdb.New(t.DB).QueriesAfter(ctx, pgdb.QueriesAfterParams{After: after, MaxRows: int32(limit)})
	return pageOf(rows, err, func(r pgdb.AccessionQuery) (lookup.Query, error) { return fold.QueryOf(r), nil })
}

// Slots returns slots as the fold left them.
func (t Tables) Slots(ctx context.Context, after string, limit int) ([]slot.Slot, error) {
	rows, err := pgdb.New(t.DB).SlotsAfter(ctx, pgdb.SlotsAfterParams{After: after, MaxRows: int32(limit)})
	return pageOf(rows, err, func(r pgdb.AccessionSlot) (slot.Slot, error) { return fold.SlotOf(r), nil })
}

// Entries returns entries of the compute queue as the fold left them.
func (t Tables) Entries(ctx context.Context, after string, limit int) ([]compute.Entry, error) {
	rows, err := pgdb.New(t.DB).ComputeEntriesAfter(ctx, pgdb.ComputeEntriesAfterParams{After: after, MaxRows: int32(limit)})
	return pageOf(rows, err, func(r pgdb.AccessionComputeEntry) (compute.Entry, error) { return fold.EntryOf(r), nil })
}

// Settings returns all settings.
func (t Tables) Settings(ctx context.Context) ([]domain.Setting, error) {
	rows, err := pgdb.New(t.DB).AllSettings(ctx)
	return pageOf(rows, err, func(r pgdb.AccessionSetting) (domain.Setting, error) { return fold.SettingOf(r), nil })
}

// Stored is an event as the tables hold it.
type Stored struct {
	Seq, Epoch, Version, Zxid                    int64
	ID, Type, Kind, Aggregate                    string
	BatchID, Actor, Command, Causation, TraceCtx string
	Time, At                                     time.Time // At: when the log took it
	Data                                         json.RawMessage
}

// Events returns the history from a sequence on.
func (t Tables) Events(ctx context.Context, from uint64, limit int) ([]Stored, error) {
	rows, err := pgdb.New(t.DB).EventsFrom(ctx, pgdb.EventsFromParams{Seq: int64(from), MaxRows: int32(limit)})
	return pageOf(rows, err, func(r pgdb.AccessionEvent) (Stored, error) {
		return Stored{Seq: r.Seq, Epoch: r.Epoch, Version: r.Version, Zxid: r.Zxid, ID: r.ID, Type: r.Type, Kind: r.Kind, Aggregate: r.AggregateID,
			BatchID: r.BatchID, Actor: r.Actor, Command: r.CommandID, Causation: r.CausationID, TraceCtx: r.TraceParent,
			Time: r.Time, At: r.Stored, Data: r.Data}, nil
	})
}

// Checkpoint is the checkpoint of the main projection.
type Checkpoint struct {
	Stream  string
	Created time.Time
	Seq     uint64
}

// Checkpoint returns the main projection's, the zero value when it never ran.
func (t Tables) Checkpoint(ctx context.Context) (Checkpoint, error) {
	row, err := pgdb.New(t.DB).Checkpoint(ctx, tables.Main)
	if errors.Is(err, pgx.ErrNoRows) {
		return Checkpoint{}, nil
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read the checkpoint: %w", err)
	}
	return Checkpoint{Stream: row.Stream, Created: row.StreamCreated.UTC(), Seq: uint64(row.Seq)}, nil
}

// Poisoned returns the aggregates whose events the projection could not apply.
func (t Tables) Poisoned(ctx context.Context) (map[domain.Aggregate]string, error) {
	rows, err := pgdb.New(t.DB).PoisonedAggregates(ctx)
	if err != nil {
		return nil, fmt.Errorf("read poisoned events: %w", err)
	}
	all := map[domain.Aggregate]string{}
	for _, r := range rows {
		all[domain.Aggregate{Kind: domain.Kind(r.Kind), ID: r.AggregateID}] = fmt.Sprintf("event %d: %s", r.Seq, r.Error)
	}
	return all, nil
}

// Violation is a row for which a rule of the tables does not hold: what the rule expects
// and what was found.
type Violation = pgdb.BrokenSumsRow

// Check returns violations of the rules, a few of each: batches and files add up, and
// the counters and histories kept with each event equal those of their rows.
func (t Tables) Check(ctx context.Context) ([]Violation, error) {
	rows, err := pgdb.New(t.DB).BrokenSums(ctx)
	if err != nil {
		return nil, fmt.Errorf("check whether the tables add up: %w", err)
	}
	return rows, nil
}
