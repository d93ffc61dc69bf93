package query

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// ManifestWarning is a row of report.manifest_warning.
type ManifestWarning = pgdb.ReportManifestWarning

// Warnings lists up to limit (0 = 100) warnings about the manifests of a batch: about its
// own first, then job by job.
func Warnings(ctx context.Context, db Reader, id domain.BatchID, limit int) ([]ManifestWarning, error) {
	rows, err := pgdb.New(db).ManifestWarnings(ctx, pgdb.ManifestWarningsParams{BatchID: string(id), MaxRows: atMost(limit)})
	return rows, wrap("warnings of "+string(id), err)
}

// AllWarnings returns all warnings about the manifests of a batch, in the order of
// [Warnings].
func AllWarnings(ctx context.Context, db Reader, id domain.BatchID) iter.Seq2[ManifestWarning, error] {
	q := pgdb.New(db)
	return pages("warnings of "+string(id), func(last *ManifestWarning) ([]ManifestWarning, error) {
		p := pgdb.ManifestWarningsParams{BatchID: string(id), MaxRows: reportPage}
		if last != nil {
			p.AfterJob, p.AfterNumber = last.JobID, last.Number
		}
		rows, err := q.ManifestWarnings(ctx, p)
		return rows, err
	})
}

// TotalWarnings counts the warnings about the manifests of a batch.
func TotalWarnings(ctx context.Context, db Reader, id domain.BatchID) (int64, error) {
	n, err := pgdb.New(db).CountManifestWarnings(ctx, string(id))
	return n, wrap("count the warnings of "+string(id), err)
}

// noteWarnings keeps the warnings of an event, in place of those of an earlier event
// about the same manifest.
func (p *Past) noteWarnings(r domain.Recorded) {
	var list []string
	switch d := r.Data.(type) {
	case *domain.BatchListed:
		list = d.Warnings
		p.metadata[r.BatchID] = d.MetadataRecords
	case *domain.JobAccepted:
		list = d.Warnings
	default:
		return
	}
	row := ManifestWarning{BatchID: string(r.BatchID), At: r.Stored, Seq: int64(r.Seq)}
	if r.Aggregate.Kind == domain.KindJob {
		row.JobID = r.Aggregate.ID
	}
	rows := make([]ManifestWarning, len(list))
	for i, w := range list {
		rows[i] = row
		rows[i].Number, rows[i].Warning = int64(i+1), w
	}
	p.warnings[r.Aggregate] = rows
}

// Warnings returns the warnings about the manifests of a batch, in the order of
// [Warnings].
func (p *Past) Warnings(id domain.BatchID) []ManifestWarning {
	var rows []ManifestWarning
	for _, of := range p.warnings {
		rows = append(rows, of...)
	}
	rows = slices.DeleteFunc(rows, func(w ManifestWarning) bool { return w.BatchID != string(id) })
	slices.SortFunc(rows, func(a, b ManifestWarning) int {
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Number, b.Number))
	})
	return rows
}
