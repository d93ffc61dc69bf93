package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// compare fills the new tables up to the sequence of a snapshot of the live ones, and
// digests both. The live tables are written meanwhile.
func (r *rebuild) compare(ctx context.Context, f *fold.Fold) error {
	tx, err := r.cfg.Pool.BeginTx(ctx, tables.Snapshot)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	q := pgdb.New(tx)
	live, err := q.Checkpoint(ctx, tables.Main)
	if err != nil {
		return err
	}
	held, err := q.CountPoison(ctx, tables.Main)
	if err != nil {
		return err
	}
	if err := r.fill(ctx, f, uint64(live.Seq)); err != nil {
		return err
	}
	r.out.At = live.Seq
	next, err := r.cfg.Pool.BeginTx(ctx, tables.Snapshot)
	if err != nil {
		return err
	}
	defer func() { _ = next.Rollback(context.WithoutCancel(ctx)) }()
	same := true
	for _, table := range compared {
		r.report("compare "+table, uint64(live.Seq))
		d, err := compareTable(ctx, tx, next, table)
		if err != nil {
			return fmt.Errorf("compare %s: %w", table, err)
		}
		same = same && d.Same()
		r.out.Tables = append(r.out.Tables, d)
	}
	switch {
	case same:
	case live.Meaning != tables.Version:
		r.out.Compared = fmt.Sprintf("the live tables have projection version %d, the new ones %d", live.Meaning, tables.Version)
	case held.Events > 0:
		r.out.Compared = fmt.Sprintf("the live tables lacked %d events that were held; the new ones have them", held.Events)
	case r.cfg.Accept:
		r.out.Compared = "the differences were accepted"
	default:
		return &DifferentError{At: live.Seq, Tables: r.out.Tables}
	}
	return nil
}

// compareTable digests a table in both generations at the same time.
func compareTable(ctx context.Context, live, next pgx.Tx, table string) (TableDigest, error) {
	columns, err := columnsOfTable(ctx, live, table, migrations.Live, migrations.Next)
	if err != nil {
		return TableDigest{}, err
	}
	type answer struct {
		Digest
		err error
	}
	other := make(chan answer, 1)
	go func() {
		d, err := fingerprint(ctx, next, migrations.Next, table, columns)
		other <- answer{d, err}
	}()
	d, err := fingerprint(ctx, live, migrations.Live, table, columns)
	n := <-other
	return TableDigest{Table: table, LiveRows: d.Rows, LiveDigest: d.Digest, NewRows: n.Rows, NewDigest: n.Digest.Digest}, errors.Join(err, n.err)
}

// swapTail is how many events may be replayed while the projector waits.
const swapTail = 5000

// swap brings the new tables to where the live ones are and gives them their
// names. Each transaction of a projector begins with its checkpoint, and so waits
// while that is locked here, or was over before: none has rows in both generations.
// The old checkpoint then bears another name, so that one which waited stops.
func (r *rebuild) swap(ctx context.Context, f *fold.Fold) error {
	for {
		to, err := r.target(ctx)
		if err != nil {
			return err
		}
		if err := r.fill(ctx, f, to); err != nil {
			return err
		}
		r.report("swap", to)
		done, err := r.trySwap(ctx, f)
		if err != nil {
			return err
		}
		if done {
			break
		}
	}
	if r.cfg.KeepOld {
		r.out.Kept = true
		return nil
	}
	if err := drop(ctx, r.cfg.Pool, migrations.Old, r.cfg.DropDependents); err != nil {
		r.out.Kept = true
		return fmt.Errorf("the new tables are live, but the old ones could not be removed, `accession rebuild --drop` does: %w", err)
	}
	return nil
}

// trySwap swaps, unless too much has happened since the new tables were filled.
func (r *rebuild) trySwap(ctx context.Context, f *fold.Fold) (done bool, err error) {
	tx, err := r.cfg.Pool.BeginTx(ctx, tables.Writing)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	q := pgdb.New(tx)
	live, err := q.LockCheckpoint(ctx, tables.Main)
	if err != nil {
		return false, err
	}
	if r.incomparable == "" {
		if live.Seq-r.at.Seq > swapTail {
			return false, nil
		}
		if err := r.fill(ctx, f, uint64(live.Seq)); err != nil {
			return false, err
		}
	}
	var newer bool
	if err := tx.QueryRow(ctx, "select (select max(version_id) from accession.schema_version) > (select max(version_id) from accession_next.schema_version)").Scan(&newer); err != nil {
		return false, err
	}
	if newer {
		return false, errNewer
	}
	if err := q.RenameCheckpoint(ctx); err != nil {
		return false, err
	}
	for _, sql := range []string{
		"create schema if not exists report", // which may have been dropped
		"alter schema accession rename to accession_old", "alter schema report rename to report_old",
		"alter schema accession_next rename to accession", "alter schema report_next rename to report",
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return false, err
		}
	}
	if err := q.Notify(ctx, strconv.FormatInt(r.at.Seq, 10)); err != nil {
		return false, err
	}
	err = crash.Around("projections/rebuild/swap", func() error { return tx.Commit(ctx) })
	return err == nil, err
}
