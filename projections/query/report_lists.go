package query

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Range chooses what a report covers; empty fields choose all. Since is included, Until
// is not. UpTo is the last sequence that counts; only reports on events use it, because
// events do not change. For states of the past see [Past].
type Range struct {
	Since, Until time.Time
	Batch        domain.BatchID
	Dataset      string // of open directories
	UpTo         uint64
}

func (r Range) upTo() int64 {
	if r.UpTo == 0 {
		return math.MaxInt64
	}
	return int64(r.UpTo)
}

// bounds returns Since and Until, with the widest bounds for those that are missing.
func (r Range) bounds() (since, until time.Time) {
	since, until = r.Since, r.Until
	if since.IsZero() {
		since = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if until.IsZero() {
		until = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return since, until
}

// reportPage is how many rows a streaming read asks for at a time.
const reportPage = 1000

// pages calls page until a page is not full, and yields its rows. Each page begins
// after the last row of the one before; nil = there was none.
func pages[T any](what string, page func(last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		for {
			rows, err := page(last)
			if err != nil {
				var none T
				yield(none, wrap(what, err))
				return
			}
			for i := range rows {
				if !yield(rows[i], nil) {
					return
				}
			}
			if len(rows) < reportPage {
				return
			}
			last = &rows[len(rows)-1]
		}
	}
}

// AllRetries returns failed attempts of jobs and files in the order in which they
// failed.
func AllRetries(ctx context.Context, db Reader, r Range) iter.Seq2[Retry, error] {
	q := pgdb.New(db)
	since, until := r.bounds()
	return pages("retry history", func(last *Retry) ([]Retry, error) {
		p := pgdb.ReportRetriesParams{BatchID: string(r.Batch), Since: since, Until: until, AfterAt: since, MaxRows: reportPage}
		if last != nil {
			p.AfterAt, p.AfterJob, p.AfterHash, p.AfterNumber = last.FailedAt, last.JobID, last.RawFileHash, last.Number
		}
		rows, err := q.ReportRetries(ctx, p)
		return rows, err
	})
}

// EstimateRetries estimates how many rows [AllRetries] returns.
func EstimateRetries(ctx context.Context, db Reader, r Range) (int64, error) {
	return estimate(ctx, db, "retry", "failed_at", r)
}

// EstimateFileMoves estimates how many rows [FileMoves] returns.
func EstimateFileMoves(ctx context.Context, db Reader, r Range) (int64, error) {
	return estimate(ctx, db, "file_transition", "at", r)
}

// estimate returns how many rows of a table PostgreSQL's planner expects in a range of
// one of its columns, without reading them. sqlc has no EXPLAIN.
func estimate(ctx context.Context, db Reader, table, column string, r Range) (int64, error) {
	since, until := r.bounds()
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	sql := fmt.Sprintf("explain (format json) select from accession.%s where %[2]s >= $1 and %[2]s < $2 and ($3 = '' or batch_id = $3)", table, column)
	err := db.QueryRow(ctx, sql, since, until, string(r.Batch)).Scan(&plans)
	if err != nil || len(plans) == 0 {
		return 0, wrap("estimate the rows of "+table, err)
	}
	return int64(plans[0].Plan.Rows), nil
}

// FileMove is one change of a file's state, with the file's path.
type FileMove struct {
	Path string
	FileTransition
	discovered int64
}

// FileMoves returns transitions of files, in the order of the log; for one batch, one
// file after the other in the order of their discovery.
func FileMoves(ctx context.Context, db Reader, r Range) iter.Seq2[FileMove, error] {
	q := pgdb.New(db)
	since, until := r.bounds()
	if r.Batch == "" {
		return pages("changes of files", func(last *FileMove) ([]FileMove, error) {
			p := pgdb.ReportMovesParams{Since: since, Until: until, UpTo: r.upTo(), AfterAt: since, MaxRows: reportPage}
			if last != nil {
				p.AfterAt, p.AfterSeq = last.At, last.Seq
			}
			rows, err := q.ReportMoves(ctx, p)
			return moves(rows, func(row pgdb.ReportMovesRow) FileMove {
				return FileMove{row.Path, row.AccessionFileTransition, row.Discovered}
			}), err
		})
	}
	return pages("lives of files", func(last *FileMove) ([]FileMove, error) {
		p := pgdb.ReportFileMovesParams{BatchID: string(r.Batch), Since: since, Until: until, MaxRows: reportPage}
		if last != nil {
			p.AfterSeq, p.AfterVersion = last.discovered, last.Version
		}
		rows, err := q.ReportFileMoves(ctx, p)
		return moves(rows, func(row pgdb.ReportFileMovesRow) FileMove {
			return FileMove{row.Path, row.AccessionFileTransition, row.Discovered}
		}), err
	})
}

// moves returns rows with their times in UTC.
func moves[T any](rows []T, move func(T) FileMove) []FileMove {
	list := make([]FileMove, len(rows))
	for i, row := range rows {
		list[i] = move(row)
	}
	return list
}

// BatchFiles returns the files of a batch in the order of their discovery, page by
// page.
func BatchFiles(ctx context.Context, db Reader, id domain.BatchID) iter.Seq2[FileRow, error] {
	q := pgdb.New(db)
	return pages("files of "+string(id), func(last *FileRow) ([]FileRow, error) {
		p := pgdb.ReportFilesParams{BatchID: string(id), MaxRows: reportPage}
		if last != nil {
			p.AfterSeq = last.Seq
		}
		rows, err := q.ReportFiles(ctx, p)
		return rows, err
	})
}

// BatchJobs returns the jobs of a batch in the order of their ids.
func BatchJobs(ctx context.Context, db Reader, id domain.BatchID) iter.Seq2[JobRow, error] {
	return pages("jobs of "+string(id), func(last *JobRow) ([]JobRow, error) {
		f := JobFilter{Batch: id, Limit: reportPage}
		if last != nil {
			f.After = domain.JobID(last.ID)
		}
		return Jobs(ctx, db, f)
	})
}

// JobsByID returns those of the jobs that exist, in no order.
func JobsByID(ctx context.Context, db Reader, ids []string) ([]JobRow, error) {
	rows, err := pgdb.New(db).JobsByID(ctx, ids)
	return rows, wrap("jobs", err)
}

// LastFailures returns why each of these files failed last, by its hash; one that
// never failed is missing.
func LastFailures(ctx context.Context, db Reader, files []string) (map[string]string, error) {
	rows, err := pgdb.New(db).LastFailures(ctx, files)
	why := make(map[string]string, len(rows))
	for _, row := range rows {
		why[row.RawFileHash] = row.Code + ": " + row.Message
	}
	return why, wrap("failures of files", err)
}
