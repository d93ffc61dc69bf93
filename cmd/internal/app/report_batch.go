package app

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// ManifestWarning says what of a manifest was not taken as it is written.
type ManifestWarning = query.ManifestWarning

// BatchReportView is the report of a batch: the state of each of its jobs, the reports
// made so far, and every failed attempt. It always adds up: rows_listed is the sum of
// the five counts that follow it.
type BatchReportView struct {
	BatchSummary
	ReportsMade []query.BatchReport `json:"reports_made"`
	Jobs        []JobRow            `json:"jobs"`
	Retries     []Retry             `json:"retries"`
	// Warnings say what of the manifests was not taken as it is written.
	Warnings []ManifestWarning `json:"warnings"`
	// MetadataRecords are those of a metadata deposit, the worst up to the limit.
	MetadataRecords *report.MetadataRecords `json:"records,omitempty"`
	// CorruptSince says since when at the latest stored files of jobs are corrupt.
	CorruptSince map[string]domain.Time `json:"corrupt_since,omitempty"`
	// The totals count all rows in the tables; Truncated says that not all jobs, failed
	// attempts or warnings are listed.
	JobsTotal     int64 `json:"jobs_total"`
	RetriesTotal  int64 `json:"retries_total"`
	WarningsTotal int64 `json:"warnings_total"`
	Truncated     bool  `json:"truncated"`
	// At is the event as of which the batch is shown, nil = now.
	At *AsOf `json:"at,omitempty"`
}

// BatchReport returns the report of a batch, at any time. Up to limit jobs and as many
// failed attempts are listed.
func (a *App) BatchReport(ctx context.Context, id domain.BatchID, limit int) (v BatchReportView, err error) {
	defer Explained(&err, "report "+string(id))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return v, err
	}
	snapshot, err := query.OpenSnapshot(ctx, db)
	if err != nil {
		return v, err
	}
	defer snapshot.Close(ctx)
	t := &reading{db: snapshot}
	v.BatchSummary = batchOf(ask(ctx, t, query.Summary, id))
	v.ReportsMade = notNil(ask(ctx, t, query.Reports, id))
	v.Jobs = notNil(ask(ctx, t, query.Jobs, JobFilter{Batch: id, Limit: limit}))
	v.Retries = notNil(ask(ctx, t, func(ctx context.Context, db query.Reader, id domain.BatchID) ([]Retry, error) {
		return query.Retries(ctx, db, query.RetryFilter{Batch: id, Limit: limit})
	}, id))
	v.Warnings = notNil(ask(ctx, t, func(ctx context.Context, db query.Reader, id domain.BatchID) ([]ManifestWarning, error) {
		return query.Warnings(ctx, db, id, limit)
	}, id))
	list := ask(ctx, t, query.MetadataRecords, id)
	v.JobsTotal = ask(ctx, t, query.TotalJobs, JobFilter{Batch: id})
	v.RetriesTotal = ask(ctx, t, query.TotalRetries, id)
	v.WarningsTotal = ask(ctx, t, query.TotalWarnings, id)
	v.truncate()
	if t.err != nil {
		return v, missing(t.err, "`accession batch show "+string(id)+"` finds one that was accepted a moment ago; `accession status` shows how far the tables are behind",
			"it is not in the tables")
	}
	v.MetadataRecords = report.ReadMetadataRecords(ctx, a.Open.Uploads, list, limit)
	if records, err := a.Open.Records(ctx); err == nil {
		v.CorruptSince, _ = records.CorruptSince(ctx, id) // the report does not need it
	}
	return v, snapshot.Unchanged(ctx)
}

// BatchReportAt returns the report as it would have been then.
func (a *App) BatchReportAt(ctx context.Context, id domain.BatchID, m Moment, limit int) (v BatchReportView, err error) {
	defer Explained(&err, "report "+string(id))
	past, at, err := a.batchPast(ctx, id, m)
	if err != nil {
		return v, err
	}
	row, err := past.Summary(id)
	v.BatchSummary = batchOf(row)
	jobs, retries := past.Jobs(), past.Retries(domain.KindJob)
	v.At, v.ReportsMade, v.JobsTotal, v.RetriesTotal = &at, notNil(past.Reports()), int64(len(jobs)), int64(len(retries))
	warnings := past.Warnings(id)
	v.WarningsTotal = int64(len(warnings))
	v.Jobs, v.Retries, v.Warnings = notNil(first(jobs, limit)), notNil(first(retries, limit)), notNil(first(warnings, limit))
	v.MetadataRecords = report.ReadMetadataRecords(ctx, a.Open.Uploads, past.MetadataRecords(id), limit)
	v.truncate()
	return v, notYet(at, err)
}

// truncate sets Truncated.
func (v *BatchReportView) truncate() {
	v.Truncated = v.JobsTotal > int64(len(v.Jobs)) || v.RetriesTotal > int64(len(v.Retries)) || v.WarningsTotal > int64(len(v.Warnings))
}

// first returns the first n of a list.
func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// batchSource opens the source of a report on one batch.
func (a *App) batchSource(ctx context.Context, o ReportOptions) (s report.Source, err error) {
	if !o.At.IsNow() {
		return a.batchThen(ctx, o)
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return s, err
	}
	snapshot, err := query.OpenSnapshot(ctx, db)
	if err != nil {
		return s, err
	}
	if s, err = report.Now(ctx, snapshot, o.Range); err != nil {
		snapshot.Close(ctx)
	}
	return s, err
}

func (a *App) batchThen(ctx context.Context, o ReportOptions) (report.Source, error) {
	past, at, err := a.batchPast(ctx, o.Batch, o.At)
	if err != nil {
		return report.Source{}, err
	}
	s, err := report.Then(past, at, o.Batch)
	return s, notYet(at, err)
}

func (a *App) reportBatch(ctx context.Context, o ReportOptions) (Report, error) {
	s, err := a.batchSource(ctx, o)
	if err != nil {
		return Report{}, err
	}
	return report.Batch(ctx, s, a.Open.Uploads), nil
}

// reportReconciliation needs the inventory for a report of now.
func (a *App) reportReconciliation(ctx context.Context, o ReportOptions) (Report, error) {
	if o.Dataset != "" {
		t := a.read(ctx)
		if all := ask(ctx, t, query.SettingsOfKind, domain.SettingDataset); t.err == nil && !slices.ContainsFunc(all, func(s query.Setting) bool { return s.Name == o.Dataset }) {
			return Report{}, errorf(NotFound, "`accession dataset ls` lists them", "there is no dataset %s", o.Dataset)
		}
		counts := ask(ctx, t, query.DatasetResults, o.Dataset)
		return report.DatasetReconciliation(o.Dataset, counts, query.ReconciledFiles(ctx, t.db, o.Dataset)), t.err
	}
	var inventory *record.Records
	if o.At.IsNow() {
		var err error
		if inventory, err = a.Open.Records(ctx); err != nil {
			return Report{}, err
		}
	}
	s, err := a.batchSource(ctx, o)
	if err != nil {
		return Report{}, err
	}
	return report.Reconciliation(ctx, s, inventory)
}
