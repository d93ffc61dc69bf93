package app

import (
	"context"
	"iter"

	"github.com/accession-ingest/accession/projections"
)

func (a *App) reportRetries(ctx context.Context, o ReportOptions) (Report, error) {
	if !o.At.IsNow() && o.Batch == "" {
		past, at, err := a.wholePast(ctx, o.At)
		if err != nil {
			return Report{}, err
		}
		retries := past.AllRetries()
		return Report{At: &at, Tables: []Table{retriesTable(each(retries), int64(len(retries)))}}, nil
	}
	if !o.At.IsNow() {
		s, err := a.batchThen(ctx, o)
		return Report{At: s.at, Facts: ranged(o), Tables: []Table{retriesTable(s.retries, s.nRetry)}}, err
	}
	db, err := a.World.DB(ctx)
	if err != nil {
		return Report{}, err
	}
	n, err := projections.AboutRetries(ctx, db, o.Range)
	if err != nil {
		return Report{}, err
	}
	return Report{Facts: ranged(o), Tables: []Table{retriesTable(projections.AllRetries(ctx, db, o.Range), n)}}, nil
}

func (a *App) reportFiles(ctx context.Context, o ReportOptions) (Report, error) {
	if !o.At.IsNow() && o.Batch != "" {
		return a.filesThen(ctx, o)
	}
	db, at, err := a.tables(ctx, &o)
	if err != nil {
		return Report{}, err
	}
	n, err := projections.AboutFileMoves(ctx, db, o.Range)
	if err != nil {
		return Report{}, err
	}
	return movesReport(o, at, projections.FileMoves(ctx, db, o.Range), n), nil
}

func (a *App) filesThen(ctx context.Context, o ReportOptions) (Report, error) {
	past, at, err := a.batchPast(ctx, o.Batch, o.At)
	if err != nil {
		return Report{}, err
	}
	if _, err := past.Summary(o.Batch); err != nil {
		return Report{}, notYet(string(o.Batch), at, err)
	}
	moves := past.FileMoves()
	return movesReport(o, &at, each(moves), int64(len(moves))), nil
}

// movesReport is changes of files' states.
func movesReport(o ReportOptions, at *Place, moves iter.Seq2[projections.FileMove, error], n int64) Report {
	return Report{At: at, Facts: ranged(o), Tables: []Table{{
		Name: "changes", Title: "Changes of files", None: "No file has changed.", Total: n,
		Columns: columns("batch_id", "job_id", "path", "version", "from_status", "to_status", "at", "seconds", "actor", "worker",
			"download_attempts", "processing_attempts", "size", "reason_class", "reason_code", "reason_message", "raw_file_hash"),
		Rows: rowsOf(moves, func(m projections.FileMove) []any {
			return []any{m.BatchID, m.JobID, m.Path, m.Version, m.FromStatus, m.ToStatus, m.At, cell(m.Seconds), m.Actor, m.Worker,
				m.DownloadAttempts, m.ProcessingAttempts, m.Size, cell(m.ReasonClass), cell(m.ReasonCode), cell(m.ReasonMessage), m.RawFileHash}
		})}}}
}
