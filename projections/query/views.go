// Package query reads the tables of the projection, for commands, reports, verify and
// the sweeper, and opens consistent snapshots of them. [Past] folds the same rows in
// memory, as of any event.
package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// ErrNotFound reports that there is no such row in the projection. It may exist and not
// be projected yet.
var ErrNotFound = tables.ErrNotFound

// Reader is what one query needs: a pool, a connection, a transaction or a snapshot.
type Reader = tables.Reader

// DB is what several queries in one snapshot need: a pool or a connection.
type DB = tables.DB

// Rows of views and tables. Their fields are the columns, which the database explains;
// in JSON they have the columns' names. Times are UTC.
type (
	// BatchSummary is a row of report.batch_summary.
	BatchSummary = pgdb.ReportBatchSummary
	// BatchReport is a row of accession.batch_report.
	BatchReport = pgdb.AccessionBatchReport
	// Message is a message about a batch, as the history has it.
	Message = pgdb.BatchMessagesRow
	// Retry is a row of report.retry_history.
	Retry = pgdb.ReportRetryHistory
	// JobRow is a row of accession.job.
	JobRow = pgdb.AccessionJob
	// JobTransition is a row of accession.job_transition.
	JobTransition = pgdb.AccessionJobTransition
)

// Summary returns one batch, or ErrNotFound.
func Summary(ctx context.Context, db Reader, id domain.BatchID) (BatchSummary, error) {
	row, err := pgdb.New(db).BatchSummary(ctx, string(id))
	return row, wrap(string(id), err)
}

// Reports lists the reports of a batch in their order.
func Reports(ctx context.Context, db Reader, id domain.BatchID) ([]BatchReport, error) {
	rows, err := pgdb.New(db).BatchReports(ctx, string(id))
	return rows, wrap("reports of "+string(id), err)
}

// Messages returns the messages in the history about a batch, in its order.
func Messages(ctx context.Context, db Reader, id domain.BatchID) ([]Message, error) {
	rows, err := pgdb.New(db).BatchMessages(ctx, string(id))
	return rows, wrap("messages about "+string(id), err)
}

// RetryFilter chooses failed attempts of the jobs of a batch.
type RetryFilter struct {
	Batch        domain.BatchID
	Job          domain.JobID // "" = of any of its jobs
	Code         domain.Code  // of the reason, "" = any
	Outcome      string       // one of [Outcomes], "" = any
	Since, Until time.Time    // when they failed, zero = at any time
	AfterJob     domain.JobID // the job and number of the last of the page before
	AfterNumber  int64
	Limit        int // at most (default 100)
}

// Outcomes are what may have become of a failed attempt.
var Outcomes = []string{fold.OutcomeOpen, fold.OutcomeSucceeded, fold.OutcomeFailedAgain, fold.OutcomeDeleted, fold.OutcomeAbandoned}

// Retries lists failed attempts of a batch's jobs, job by job.
func Retries(ctx context.Context, db Reader, f RetryFilter) ([]Retry, error) {
	rows, err := pgdb.New(db).RetryHistory(ctx, pgdb.RetryHistoryParams{
		BatchID: string(f.Batch), JobID: string(f.Job), Code: string(f.Code), Outcome: f.Outcome, Since: given(f.Since), Until: given(f.Until),
		AfterJob: string(f.AfterJob), AfterNumber: f.AfterNumber, MaxRows: atMost(f.Limit)})
	return rows, wrap("retry history of "+string(f.Batch), err)
}

// JobByID returns one job, or ErrNotFound.
func JobByID(ctx context.Context, db Reader, id domain.JobID) (JobRow, error) {
	row, err := pgdb.New(db).Job(ctx, string(id))
	return row, wrap(string(id), err)
}

// Transitions lists the changes of a job's state in their order.
func Transitions(ctx context.Context, db Reader, id domain.JobID) ([]JobTransition, error) {
	rows, err := pgdb.New(db).JobTransitions(ctx, string(id))
	return rows, wrap("history of "+string(id), err)
}

// RetriesOfJob lists the failed attempts of one job.
func RetriesOfJob(ctx context.Context, db Reader, id domain.JobID) ([]Retry, error) {
	rows, err := pgdb.New(db).JobRetries(ctx, string(id))
	return rows, wrap("retry history of "+string(id), err)
}

// defaultLimit is the length of a list without a limit.
const defaultLimit = 100

func atMost(limit int) int32 {
	if limit <= 0 {
		return defaultLimit
	}
	return int32(min(limit, math.MaxInt32))
}

func wrap(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
