package query

import (
	"context"
	"iter"

	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

type (
	// ReconciledFile is a row of report.dataset_reconciliation.
	ReconciledFile = pgdb.ReportDatasetReconciliation
	// DatasetResult says how many files of a dataset have one result, and their bytes.
	DatasetResult = pgdb.DatasetResultsRow
)

// ReconciledFiles returns the files of a dataset by path: listed, held and processed.
func ReconciledFiles(ctx context.Context, db Reader, dataset string) iter.Seq2[ReconciledFile, error] {
	q := pgdb.New(db)
	return pages("reconcile the dataset "+dataset, func(last *ReconciledFile) ([]ReconciledFile, error) {
		p := pgdb.DatasetReconciliationParams{Dataset: dataset, MaxRows: reportPage}
		if last != nil {
			p.AfterPath, p.AfterHash = last.Path, last.RawFileHash
		}
		rows, err := q.DatasetReconciliation(ctx, p)
		return rows, err
	})
}

// DatasetResults counts the files of a dataset by their results.
func DatasetResults(ctx context.Context, db Reader, dataset string) ([]DatasetResult, error) {
	rows, err := pgdb.New(db).DatasetResults(ctx, dataset)
	return rows, wrap("reconcile the dataset "+dataset, err)
}
