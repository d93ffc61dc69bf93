package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// demoTimeout bounds the demonstration, which takes well under a minute.
const demoTimeout = 5 * time.Minute

func (p *program) demo() *cobra.Command {
	var dir string
	var keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch deposits walk all the way through, on private servers",
		Long: `Start private servers in a fresh directory, make the tables, run the service, serve
sample deposits over HTTP on this machine, deposit them and show what becomes of
them: jobs, stored objects, events, and the report in PostgreSQL.

One of the sample objects has a wrong digest in its manifest. It must fail, and be
reported; exit code 0 means that everything went as it should, that failure
included.

Nothing outside the directory is touched, and a second run begins anew.`,
		Example: "  accession demo\n  accession demo --keep-running\n  accession demo --dir /var/tmp/accession-demo",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.runDemo(ctx, dir, keep)
		}),
	}
	c.Flags().StringVar(&dir, "dir", "", "data `DIRECTORY`; what an earlier demo left in it is removed (default .accession/demo)")
	c.Flags().BoolVar(&keep, "keep-running", false, "leave servers and service running until Ctrl-C")
	return c
}

func (p *program) runDemo(ctx context.Context, dir string, keep bool) error {
	begun := time.Now()
	within, cancel := context.WithTimeoutCause(ctx, demoTimeout, errDemoTooLong)
	defer cancel()
	d, err := p.newDemo(within, dir)
	if err != nil {
		return err
	}
	err = d.walk(within)
	if err == nil {
		d.step("It took %s, and everything went as it should.", lasting(time.Since(begun)))
		if keep {
			d.say("Servers and service go on running: Ctrl-C stops them.")
			select {
			case <-ctx.Done():
			case <-d.stack.Done():
				err = d.stack.Err()
			}
		}
	} else if errors.Is(context.Cause(within), errDemoTooLong) {
		err = fmt.Errorf("%w: %w", errDemoTooLong, err)
	}
	if err != nil && ctx.Err() == nil {
		d.say("The service's log is %s, the servers' logs are in %s.", d.logFile, d.stack.Dir()+"/logs")
	}
	return errors.Join(err, d.stop())
}

var errDemoTooLong = fmt.Errorf("the demonstration took more than %v", demoTimeout)

// walk makes three deposits and follows them to their ends.
func (d *demo) walk(ctx context.Context) error {
	base := d.serveSamples()
	d.step("A depositor's web server offers sample deposits at %s", base)
	from, err := d.app.LogEnd(ctx)
	if err != nil {
		return err
	}
	deposits := []app.Deposit{
		{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest, Title: "Sample batch: six objects, one of which must fail"},
		{Payload: base + samples.ObjectManifest, Type: domain.TypeObjectManifest, Title: "Sample object: one manifest of files"},
		{Payload: base + samples.SingleFile, Type: domain.TypeFile, Title: "Sample file"},
	}
	d.step("Three deposits:")
	batches := make([]domain.BatchID, len(deposits))
	for i, dep := range deposits {
		dep.Profile, dep.Submitter = "demo", "demo"
		s, err := d.app.Submit(ctx, dep)
		if err != nil {
			return err
		}
		batches[i] = s.Batch
		d.say("%s  %-15s %s", s.Batch, s.Type, dep.Payload)
	}
	d.step("Each becomes a batch, each object in it a job. Jobs go through pending, estimating,\nprovisioning, downloading, processing, recording and notify:")
	for i, id := range batches {
		if err := d.follow(ctx, id, from+1, i == 0); err != nil {
			return err
		}
	}
	failed, err := d.failedJobs(ctx, batches[0])
	if err != nil {
		return err
	}
	for _, id := range failed {
		d.say("%s failed, as intended: the sample's manifest names a wrong digest.", id)
	}
	d.step("An operator sends the failed job back to work, and asks for a second report:")
	for _, id := range failed {
		if err := d.again(ctx, batches[0], id); err != nil {
			return err
		}
	}
	return d.reports(ctx, batches)
}

// follow waits until a batch is at rest and shows every phase of it, or only its
// end.
func (d *demo) follow(ctx context.Context, id domain.BatchID, from uint64, phases bool) error {
	if phases {
		_, err := d.p.watch(ctx, d.app, id, from)
		return err
	}
	end, err := d.app.Watch(ctx, id, from, func(app.Event, app.Progress) {})
	if err == nil {
		d.say("%s", progressLine(end))
	}
	return err
}

// again requeues a failed job, which fails once more, and has its batch reported
// again.
func (d *demo) again(ctx context.Context, batch domain.BatchID, job domain.JobID) error {
	from, err := d.app.LogEnd(ctx)
	if err != nil {
		return err
	}
	moved, err := d.app.Requeue(ctx, job, "the demonstration tries it once more")
	if err != nil {
		return err
	}
	d.say("%s is %s again (%s)", job, moved.State, moved.Row)
	if from, err = d.until(ctx, batch, from+1, domain.EventJobFailed, domain.EventJobCompleted); err != nil {
		return err
	}
	if _, err := d.app.RequestUpdate(ctx, batch, "the demonstration asks for a second report"); err != nil {
		return err
	}
	_, err = d.until(ctx, batch, from+1, domain.EventBatchFailed, domain.EventBatchCompleted)
	return err
}

// until follows a batch until one of the events is seen, and gives its place.
func (d *demo) until(ctx context.Context, batch domain.BatchID, from uint64, types ...domain.EventType) (uint64, error) {
	for e, err := range d.app.Tail(ctx, app.TailOptions{Selection: app.Selection{From: from, Batch: batch}, Follow: true}) {
		if err != nil {
			return 0, err
		}
		_, to, why := e.Move()
		text := fmt.Sprintf("%-24s %-20s %s", e.Type, e.Subject, to)
		if why != nil && why.Failure() {
			text += fmt.Sprintf("  %s: %s", why.Code, printable(why.Message))
		}
		d.say("%s", text)
		if slices.Contains(types, e.Type) {
			return e.Seq, nil
		}
	}
	return 0, ctx.Err()
}
