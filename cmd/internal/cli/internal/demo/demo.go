// Package demo ingests sample deposits on private servers, and shows what became of them.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/watch"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// demoTimeout bounds the demonstration, which takes well under a minute.
const demoTimeout = 5 * time.Minute

var errDemoTooLong = fmt.Errorf("the demonstration took more than %v", demoTimeout)

// Options say what to demonstrate, and where to show it.
type Options struct {
	Out      io.Writer
	Progress io.Writer // where progress is shown
	Draw     bool      // with bars
	Called   string    // how to run this program again
	Version  string    // of this program
	Dir      string    // of the data, "" = a directory of its own
	Keep     bool      // leave servers and service running until ctx ends
}

// Run starts servers and the service, submits the samples, follows them to their ends,
// and stops everything.
func Run(ctx context.Context, o Options) error {
	begun := time.Now()
	within, cancel := context.WithTimeoutCause(ctx, demoTimeout, errDemoTooLong)
	defer cancel()
	d, err := newDemo(within, o)
	if err != nil {
		return err
	}
	err = d.run(within)
	switch {
	case err != nil && errors.Is(context.Cause(within), errDemoTooLong):
		err = fmt.Errorf("%w: %w", errDemoTooLong, err)
	case err == nil:
		d.step("Finished in %s; everything went as intended.", render.Duration(time.Since(begun)))
	}
	if err == nil && o.Keep {
		err = d.keep(ctx)
	}
	if err != nil && ctx.Err() == nil {
		d.say("The service's log is %s, the servers' logs are in %s.", d.logFile, d.stack.Dir()+"/logs")
	}
	return errors.Join(err, d.stop())
}

// keep says how to look around and to deposit, and leaves everything running until ctx ends.
func (d *demo) keep(ctx context.Context) error {
	key, err := d.key(ctx, "newcomer", "the demonstration keeps running")
	if err != nil {
		return err
	}
	d.say("Meanwhile, in another terminal:")
	d.say("export ACCESSION_CONFIG='%s'", strings.ReplaceAll(d.settings, "'", `'\''`))
	for _, command := range []string{"status", "batch ls", "queue board metadata", "submit --profile demo DIRECTORY"} {
		d.say("%s %s", d.Called, command)
	}
	d.step("As a depositor, over HTTP:")
	d.say("export ACCESSION_SERVER=%s ACCESSION_API_KEY=%s", d.door, key)
	d.say("%s submit --profile demo DIRECTORY", d.Called)
	d.step("Servers and service keep running: Ctrl-C stops them.")
	select {
	case <-ctx.Done():
		return nil
	case <-d.stack.Done():
		return d.stack.Err()
	}
}

// run submits three deposits and follows them to their ends; then it lets two depositors wait, and has an
// open directory polled.
func (d *demo) run(ctx context.Context) error {
	base, err := d.serve(samples.Handler())
	if err != nil {
		return err
	}
	d.step("A depositor's web server offers sample deposits at %s", base)
	from, err := d.app.LogEnd(ctx)
	if err != nil {
		return err
	}
	d.step("Three deposits:")
	var batches []domain.BatchID
	for _, dep := range []app.Deposit{
		{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest, Title: "Sample batch: six objects, one of which must fail"},
		{Payload: base + samples.ObjectManifest, Type: domain.TypeObjectManifest, Title: "Sample object: one manifest of files"},
		{Payload: base + samples.SingleFile, Type: domain.TypeFile, Title: "Sample file"},
	} {
		dep.Profile, dep.Submitter = "demo", "demo"
		s, err := d.app.Submit(ctx, dep)
		if err != nil {
			return err
		}
		batches = append(batches, s.Batch)
		d.say("%s  %-15s %s", s.Batch, s.Type, dep.Payload)
	}
	d.step("Each becomes a batch, each object in it a job. Jobs go through pending, estimating,\nprovisioning, downloading, processing, recording and notify:")
	for i, id := range batches {
		if err := d.follow(ctx, id, from+1, i == 0); err != nil {
			return err
		}
	}
	v, err := d.report(ctx, batches[0])
	if err != nil {
		return err
	}
	failed := slices.DeleteFunc(v.Jobs, func(j app.JobRow) bool { return j.Status != string(domain.JobFailed) })
	for _, j := range failed {
		d.say("%s failed, as intended: the sample's manifest has a wrong digest.", j.ID)
	}
	d.step("An operator requeues the failed job, and requests an update report:")
	for _, j := range failed {
		if err := d.requeue(ctx, batches[0], domain.JobID(j.ID)); err != nil {
			return err
		}
	}
	if err := d.turns(ctx, base); err != nil {
		return err
	}
	if err := d.directory(ctx); err != nil {
		return err
	}
	return d.reports(ctx, batches)
}

// follow waits until a batch is at rest and shows every phase of it, or only its
// end.
func (d *demo) follow(ctx context.Context, id domain.BatchID, from uint64, phases bool) error {
	if phases {
		_, err := watch.Batch(ctx, d.Progress, d.Draw, id, func(seen func(app.Event, app.Progress)) (app.Progress, error) {
			return d.app.Watch(ctx, id, from, seen)
		})
		return err
	}
	end, err := d.app.Watch(ctx, id, from, func(app.Event, app.Progress) {})
	if err == nil {
		d.say("%s", watch.Line(end))
	}
	return err
}

// requeue requeues a failed job, which fails again, and has its batch reported again.
func (d *demo) requeue(ctx context.Context, batch domain.BatchID, job domain.JobID) error {
	from, err := d.app.LogEnd(ctx)
	if err != nil {
		return err
	}
	moved, err := d.app.Requeue(ctx, job, "the demonstration tries it again")
	if err != nil {
		return err
	}
	d.say("%s is %s again (%s)", job, moved.State, moved.Row)
	if from, err = d.until(ctx, batch, from+1, domain.EventJobFailed, domain.EventJobCompleted); err != nil {
		return err
	}
	if _, err := d.app.RequestUpdate(ctx, batch, "the demonstration requests an update report"); err != nil {
		return err
	}
	_, err = d.until(ctx, batch, from+1, domain.EventBatchFailed, domain.EventBatchCompleted)
	return err
}

// until shows the events of a batch up to one of the types, and returns its sequence.
func (d *demo) until(ctx context.Context, batch domain.BatchID, from uint64, types ...domain.EventType) (uint64, error) {
	for e, err := range d.app.Tail(ctx, app.TailOptions{Selection: app.Selection{From: from, Batch: batch}, Follow: true}) {
		if err != nil {
			return 0, err
		}
		_, to, why := e.Move()
		text := fmt.Sprintf("%-24s %-20s %s", e.Type, e.Subject, to)
		if why != nil && why.Failure() {
			text += fmt.Sprintf("  %s: %s", why.Code, export.Line(why.Message))
		}
		d.say("%s", text)
		if slices.Contains(types, e.Type) {
			return e.Seq, nil
		}
	}
	return 0, ctx.Err()
}

// report returns the report of a batch once the tables have all its events.
func (d *demo) report(ctx context.Context, batch domain.BatchID) (app.BatchReportView, error) {
	if err := d.app.CatchUp(ctx); err != nil {
		return app.BatchReportView{}, err
	}
	return d.app.BatchReport(ctx, batch, 1000)
}

// counts is how a batch must end.
type counts struct {
	status                    string
	listed, completed, failed int64
}

// reports shows what PostgreSQL says, and compares it with what had to happen.
func (d *demo) reports(ctx context.Context, batches []domain.BatchID) error {
	objects, fails := int64(0), int64(0)
	for _, o := range samples.Objects() {
		objects++
		if o.Fails {
			fails++
		}
	}
	one := counts{string(domain.BatchCompleted), 1, 1, 0}
	want := []counts{{string(domain.BatchFailed), objects, objects - fails, fails}, one, one}
	var first app.BatchReportView
	d.step("What PostgreSQL reports:")
	for i, id := range batches {
		v, err := d.report(ctx, id)
		if err != nil {
			return err
		}
		if err := unintended(v, want[i]); err != nil {
			views.Report(d.Out, v)
			return err
		}
		fmt.Fprintln(d.Out)
		views.Summary(d.Out, v.BatchSummary)
		fmt.Fprintln(d.Out)
		views.Jobs(d.Out, v.Jobs)
		if i == 0 {
			first = v
		}
	}
	if int64(len(first.Retries)) != 2*fails {
		return fmt.Errorf("not as intended: %d failed attempts are recorded, not %d", len(first.Retries), 2*fails)
	}
	d.step("Every failed attempt is kept, also when a later one succeeds:\n")
	views.Retries(d.Out, first.Retries)
	d.where(first)
	return nil
}

// unintended reports how a batch differs from what had to happen.
func unintended(v app.BatchReportView, want counts) error {
	if got := (counts{v.Status, render.Deref(v.RowsListed), v.JobsCompleted, v.JobsFailed}); got != want || v.JobsInProgress != 0 {
		return fmt.Errorf("not as intended: %s should be %s with %d jobs completed and %d failed", v.BatchID, want.status, want.completed, want.failed)
	}
	for _, j := range v.Jobs {
		if j.Status == string(domain.JobFailed) && render.Deref(j.ReasonCode) != string(domain.CodeDigestMismatch) {
			return fmt.Errorf("not as intended: %s failed for another reason than its wrong digest", j.ID)
		}
	}
	return nil
}

// where shows where the results are.
func (d *demo) where(v app.BatchReportView) {
	d.step("Results:")
	d.say("objects   %s", relative(filepath.Join(d.cfg.Store, "objects")))
	if i := slices.IndexFunc(v.Jobs, func(j app.JobRow) bool { return j.ManifestKey != nil }); i >= 0 {
		d.say("          such as %s", relative(filepath.Join(d.cfg.Store, *v.Jobs[i].ManifestKey)))
	}
	d.say("mails     %s", relative(d.cfg.MailDir))
	d.say("log       %s", relative(d.logFile))
	d.next(relative(d.stack.Dir()))
}

// next shows commands to go on with.
func (d *demo) next(dir string) {
	d.step("To look into it, start the servers again with the first line; then, in another terminal:")
	d.say("%s stack --dir %s", d.Called, dir)
	d.say("psql \"$(cat %s/postgres.url)\" -c 'select * from report.batch_summary'", dir)
	d.say("psql \"$(cat %s/postgres.url)\" -c 'select * from report.retry_history'", dir)
	d.step("To keep it running:")
	d.say("%s demo --keep-running%s", d.Called, d.dirFlag)
}
