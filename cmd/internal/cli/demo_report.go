package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// failedJobs lists the jobs of a batch that failed, once the tables show its end.
func (d *demo) failedJobs(ctx context.Context, batch domain.BatchID) ([]domain.JobID, error) {
	v, err := d.settled(ctx, batch)
	if err != nil {
		return nil, err
	}
	var ids []domain.JobID
	for _, j := range v.Jobs {
		if j.Status == string(domain.JobFailed) {
			ids = append(ids, domain.JobID(j.ID))
		}
	}
	return ids, nil
}

// settled gives the report of a batch when the tables show all that has happened
// to it.
func (d *demo) settled(ctx context.Context, batch domain.BatchID) (app.BatchReportView, error) {
	if err := d.app.CatchUp(ctx); err != nil {
		return app.BatchReportView{}, err
	}
	return d.app.BatchReport(ctx, batch, 1000)
}

// reports shows what PostgreSQL says, and compares it with what had to happen.
func (d *demo) reports(ctx context.Context, batches []domain.BatchID) error {
	objects := samples.Objects()
	fails := 0
	for _, o := range objects {
		if o.Fails {
			fails++
		}
	}
	want := []struct {
		status                    domain.BatchState
		listed, completed, failed int
	}{
		{domain.BatchFailed, len(objects), len(objects) - fails, fails},
		{domain.BatchCompleted, 1, 1, 0},
		{domain.BatchCompleted, 1, 1, 0},
	}
	var first app.BatchReportView
	d.step("What PostgreSQL reports:")
	for i, id := range batches {
		v, err := d.settled(ctx, id)
		if err != nil {
			return err
		}
		w := want[i]
		listed, _ := or(v.RowsListed, "").(int64)
		if v.Status != string(w.status) || listed != int64(w.listed) || v.JobsCompleted != int64(w.completed) || v.JobsFailed != int64(w.failed) || v.JobsInProgress != 0 {
			showReport(d.p.Out, v)
			return fmt.Errorf("this was not intended: %s should be %s with %d jobs completed and %d failed", id, w.status, w.completed, w.failed)
		}
		for _, j := range v.Jobs {
			if j.Status == string(domain.JobFailed) && or(j.ReasonCode, "") != string(domain.CodeDigestMismatch) {
				showReport(d.p.Out, v)
				return fmt.Errorf("this was not intended: %s failed for another reason than its wrong digest", j.ID)
			}
		}
		fmt.Fprintln(d.p.Out)
		showBatch(d.p.Out, v.BatchSummary)
		fmt.Fprintln(d.p.Out)
		showJobs(d.p.Out, v.Jobs)
		if i == 0 {
			first = v
		}
	}
	if len(first.Retries) != 2*fails {
		return fmt.Errorf("this was not intended: %d failed attempts are recorded, not %d", len(first.Retries), 2*fails)
	}
	d.step("Every failed attempt is kept, also when a later one succeeds:\n")
	showRetries(d.p.Out, first.Retries)
	d.where(first)
	return nil
}

// where tells where to look next.
func (d *demo) where(v app.BatchReportView) {
	d.step("Where things are:")
	d.say("objects   %s", relative(filepath.Join(d.cfg.Store, "objects")))
	for _, j := range v.Jobs {
		if j.ManifestKey != nil {
			d.say("          such as %s", relative(filepath.Join(d.cfg.Store, *j.ManifestKey)))
			break
		}
	}
	d.say("mails     %s", relative(d.cfg.MailDir))
	d.say("log       %s", relative(d.logFile))
	d.next(relative(d.stack.Dir()), d.stack.Addresses().Postgres)
}

// next tells what to type next.
func (d *demo) next(dir, postgres string) {
	d.step("Look in (the first line starts the servers again with this data; then, beside it):")
	d.say("%s stack --dir %s", d.called, dir)
	d.say("psql '%s' -c 'select * from report.batch_summary'", postgres)
	d.say("psql '%s' -c 'select * from report.retry_history'", postgres)
	d.step("Keep it running:")
	d.say("%s demo --keep-running%s", d.called, d.dirFlag)
}
