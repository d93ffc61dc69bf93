package app

import (
	"cmp"
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/projections/query"
)

func (a *App) reportRetries(ctx context.Context, o ReportOptions) (Report, error) {
	switch {
	case o.At.IsNow():
		t := a.read(ctx)
		n := ask(ctx, t, query.EstimateRetries, o.Range)
		return report.Attempts(o.Range, nil, query.AllRetries(ctx, t.db, o.Range), n), t.err
	case o.Batch != "":
		s, err := a.batchThen(ctx, o)
		return report.Attempts(o.Range, s.At, s.Retries, s.NRetry), err
	}
	past, at, err := a.wholePast(ctx, o)
	if err != nil {
		return Report{}, err
	}
	retries := past.AllRetries()
	return report.Attempts(o.Range, &at, report.Each(retries), int64(len(retries))), nil
}

func (a *App) reportFiles(ctx context.Context, o ReportOptions) (Report, error) {
	if !o.At.IsNow() && o.Batch != "" {
		return a.filesThen(ctx, o)
	}
	db, at, err := a.tables(ctx, &o)
	if err != nil {
		return Report{}, err
	}
	n, err := query.EstimateFileMoves(ctx, db, o.Range)
	return report.Moves(o.Range, at, query.FileMoves(ctx, db, o.Range), n), err
}

func (a *App) filesThen(ctx context.Context, o ReportOptions) (Report, error) {
	past, at, err := a.batchPast(ctx, o.Batch, o.At)
	if err != nil {
		return Report{}, err
	}
	_, err = past.Summary(o.Batch)
	moves := past.FileMoves()
	return report.Moves(o.Range, &at, report.Each(moves), int64(len(moves))), notYet(at, err)
}

func (a *App) reportThroughput(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, fromTables(a, query.Throughput), report.Throughput)
}

func (a *App) reportStates(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, fromTables(a, query.TimeInState), report.States)
}

func (a *App) reportFailures(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, a.failures, report.Failures)
}

func (a *App) reportSubmitters(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, a.submitters, report.Submitters)
}

func (a *App) reportCollections(ctx context.Context, o ReportOptions) (Report, error) {
	if o.At.IsNow() {
		return sums(ctx, o, fromTables(a, query.Collections), report.Collections)
	}
	past, at, err := a.wholePast(ctx, o)
	if err != nil {
		return Report{}, err
	}
	return report.Collections(o.Range, &at, past.Collections()), nil
}

func (a *App) reportIngest(ctx context.Context, o ReportOptions) (Report, error) {
	records, err := a.Open.Records(ctx)
	if err != nil {
		return Report{}, err
	}
	rows, err := records.Ingest(ctx, cmp.Or(o.By, "day"), o.Since, o.Until)
	return report.Ingest(o.Range, rows), err
}

// sums makes a report of one table, whose rows are few.
func sums[T any](ctx context.Context, o ReportOptions, read func(context.Context, ReportOptions) ([]T, *AsOf, error), of func(query.Range, *AsOf, []T) Report) (Report, error) {
	list, at, err := read(ctx, o)
	if err != nil {
		return Report{}, err
	}
	return of(o.Range, at, list), nil
}

// tables returns the tables; as of a moment, with the range up to there.
func (a *App) tables(ctx context.Context, o *ReportOptions) (query.DB, *AsOf, error) {
	if o.At.IsNow() {
		db, err := a.Open.DB(ctx)
		return db, nil, err
	}
	db, at, err := a.tablesAt(ctx, o.At)
	o.UpTo = at.Seq
	return db, &at, err
}

// fromTables reads rows that the tables have by sequence, now or as of a moment.
func fromTables[T any](a *App, read func(context.Context, query.Reader, query.Range) ([]T, error)) func(context.Context, ReportOptions) ([]T, *AsOf, error) {
	return func(ctx context.Context, o ReportOptions) ([]T, *AsOf, error) {
		db, at, err := a.tables(ctx, &o)
		if err != nil {
			return nil, nil, err
		}
		list, err := read(ctx, db, o.Range)
		return list, at, err
	}
}

func (a *App) failures(ctx context.Context, o ReportOptions) ([]query.FailureRow, *AsOf, error) {
	if o.At.IsNow() {
		return fromTables(a, query.Failures)(ctx, o)
	}
	past, at, err := a.pastFor(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return past.Failures(), &at, nil
}

func (a *App) submitters(ctx context.Context, o ReportOptions) ([]query.SubmitterRow, *AsOf, error) {
	if o.At.IsNow() {
		return fromTables(a, query.Submitters)(ctx, o)
	}
	past, at, err := a.wholePast(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return past.Submitters(), &at, nil
}

// pastFor folds the history that a report needs.
func (a *App) pastFor(ctx context.Context, o ReportOptions) (*query.Past, AsOf, error) {
	if o.Batch != "" {
		return a.batchPast(ctx, o.Batch, o.At)
	}
	return a.wholePast(ctx, o)
}
