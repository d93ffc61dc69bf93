package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
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

// Rule is something that must hold within the tables. SQL returns one row for each
// violation: the key, what is expected, what is found.
type Rule struct{ Name, Table, SQL string }

// Broken is one violation of a rule.
type Broken struct {
	Rule            Rule
	Key, Want, Have string
}

// Check returns violations of the rules, a few of each.
func (t Tables) Check(ctx context.Context) ([]Broken, error) {
	var all []Broken
	for _, r := range Rules {
		rows, err := t.DB.Query(ctx, r.SQL+" order by 1 limit 20")
		if err != nil {
			return all, fmt.Errorf("check %s: %w", r.Name, err)
		}
		b := Broken{Rule: r}
		_, err = pgx.ForEachRow(rows, []any{&b.Key, &b.Want, &b.Have}, func() error {
			all = append(all, b)
			return nil
		})
		if err != nil {
			return all, fmt.Errorf("check %s: %w", r.Name, err)
		}
	}
	return all, nil
}

// Rules are the sums: batches and files add up, and the counters and histories kept
// with each event equal those of their rows.
var Rules = []Rule{
	{"a batch adds up", "batch", `select id, rows_listed::text || ' jobs listed',
			(jobs_completed + jobs_failed + jobs_held + jobs_deleted + jobs_in_progress)::text || ' counted'
		from accession.batch where rows_listed <> jobs_completed + jobs_failed + jobs_held + jobs_deleted + jobs_in_progress`},
	{"a batch counts its jobs", "batch", `select b.id, format('%s failed, %s completed, %s held, %s deleted', j.failed, j.completed, j.held, j.deleted),
			format('%s failed, %s completed, %s held, %s deleted', b.jobs_failed, b.jobs_completed, b.jobs_held, b.jobs_deleted)
		from accession.batch b, lateral (select count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'completed') as completed,
			count(*) filter (where status = 'held') as held, count(*) filter (where status = 'deleted') as deleted from accession.job where batch_id = b.id) j
		where (b.jobs_failed, b.jobs_completed, b.jobs_held, b.jobs_deleted) <> (j.failed, j.completed, j.held, j.deleted)`},
	{"each change of a job has its row", "job_transition", `select e.aggregate_id || '/' || e.version, 'a row', 'none' from accession.event e
		where e.kind = 'job' and e.data ->> 'from' is distinct from e.data ->> 'to'
			and not exists (select from accession.job_transition t where t.job_id = e.aggregate_id and t.version = e.version)`},
	{"each change of a file has its row", "file_transition", `select e.aggregate_id || '/' || e.version, 'a row', 'none' from accession.event e
		where e.kind = 'file' and not exists (select from accession.file_transition t where t.raw_file_hash = e.aggregate_id and t.version = e.version)`},
	{"a failed job has an open attempt", "retry", `select j.id, 'an open attempt', 'none' from accession.job j where j.status = 'failed' and not exists (
			select from accession.retry r where r.kind = 'job' and r.job_id = j.id and r.outcome = 'open' and r.resumed_at is null)`},
	{"a failed file has an open attempt", "retry", `select f.raw_file_hash, 'an open attempt', 'none' from accession.file f
		where f.status in ('DOWNLOADING_FAILED', 'PROCESSING_FAILED') and not exists (
			select from accession.retry r where r.raw_file_hash = f.raw_file_hash and r.number = f.version and r.outcome = 'open')`},
	{"files add up", "file_count", `select id, files_listed::text || ' files listed',
			(files_processed + files_skipped + files_given_up + files_deleted + files_in_progress)::text || ' counted'
		from accession.file_count where files_listed <> files_processed + files_skipped + files_given_up + files_deleted + files_in_progress`},
	{"files are counted", "file_count", `select c.id, format('%s files of %s bytes', f.files, f.bytes), format('%s files of %s bytes', c.files_listed, c.bytes_listed)
		from accession.file_count c, lateral (select count(*) as files, coalesce(sum(f.size), 0) as bytes from accession.file f
			where f.job_id <> '' and (f.job_id = c.id or f.batch_id = c.id)) f
		where c.files_listed <> f.files or c.bytes_listed <> f.bytes`},
	{"states of files are counted", "file_count", `select c.id, format('%s processed, %s skipped, %s given up', f.processed, f.skipped, f.given_up),
			format('%s processed, %s skipped, %s given up', c.files_processed, c.files_skipped, c.files_given_up)
		from accession.file_count c join accession.job j on j.id = c.id,
			lateral (select count(*) filter (where f.status = 'PROCESSED') as processed, count(*) filter (where f.status = 'SKIPPED') as skipped,
				count(*) filter (where f.status in ('IGNORE', 'ABANDONED')) as given_up from accession.file f where f.job_id = c.id) f
		where j.status <> 'deleted' and (c.files_processed <> f.processed or c.files_skipped <> f.skipped or c.files_given_up <> f.given_up)`},
}
