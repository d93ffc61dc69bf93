package fold

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// report keeps a report that was made about a batch; number counts from 1.
func (f *Fold) report(r domain.Recorded, d *domain.BatchReport, number int64) {
	kind := "first"
	if d.From == domain.BatchUpdateReporting {
		kind = "update"
	}
	c := columnsOf(d.Reason)
	rep := d.Report
	f.reports = append(f.reports, pgdb.AccessionBatchReport{
		BatchID: r.Aggregate.ID, Report: number, Version: r.Version, Kind: kind, Status: string(d.To),
		Successful: int64(rep.Successful), Failed: int64(rep.Failed), NewlySuccessful: int64(len(rep.NewlySuccessfulJobs)),
		SuccessfulJobs: texts(rep.SuccessfulJobs), FailedJobs: texts(rep.FailedJobs),
		NewlySuccessfulJobs: texts(rep.NewlySuccessfulJobs), UnresolvedJobs: texts(rep.UnresolvedJobs),
		Truncated: rep.Truncated, ReportUrl: rep.ReportURL, ReportSha256: rep.ReportSHA256,
		ReasonClass: c.class, ReasonCode: c.code, ReasonMessage: c.message,
		ReportedAt: r.Time.Time, Seq: int64(r.Seq),
	})
}
