package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/deploy/profiles"
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

// demoDir is where a demonstration keeps its data, unless one runs there.
const demoDir = ".accession/demo"

// demo is a demonstration: servers, service, samples and an operator, all in this
// process.
type demo struct {
	p       *program
	stack   *stack.Stack
	cfg     config.Resolved
	app     *app.App
	logFile string
	called  string // how to run this program again
	dirFlag string // what to say for the same directory again

	closing []func() error // in the order of opening
}

func (d *demo) step(format string, args ...any) { fmt.Fprintf(d.p.Out, "\n"+format+"\n", args...) }
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.p.Out, "  "+format+"\n", args...)
}

// newDemo starts everything. After an error nothing is left running.
func (p *program) newDemo(ctx context.Context, dir string) (d *demo, err error) {
	all := *p
	all.Err = p.Out // progress is what people come to see
	if s, ok := p.Out.(screen); ok {
		all.Err = s.Writer // bars move about on the terminal itself
	}
	d = &demo{p: &all, called: cmp.Or(p.Program, "accession")}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	if dir != "" {
		d.dirFlag = " --dir " + dir
	}
	if dir, err = freshDir(ctx, dir); err != nil {
		return d, err
	}
	fmt.Fprintf(p.Out, "Private ZooKeeper, NATS and PostgreSQL start in %s\n", dir)
	if d.stack, err = p.startStack(ctx, dir, p.Out); err != nil {
		return d, err
	}
	d.closing = append(d.closing, func() error { return stopStack(d.stack, nil) })
	if err := d.configure(); err != nil {
		return d, err
	}
	a, closing := run.Open(d.cfg, "user/demo", slog.New(slog.DiscardHandler))
	d.app, d.closing = a, append(d.closing, closing)
	done, err := a.Migrate(ctx, false)
	if err != nil {
		return d, err
	}
	d.step("The tables are made: %d migrations for what follows from the history, %d for the records.", done.Applied["accession"], done.Applied["record"])
	err = d.startService(ctx)
	return d, err
}

// freshDir gives a directory without data: what an earlier demonstration left is
// removed. One that still runs is left alone.
func freshDir(ctx context.Context, dir string) (string, error) {
	if dir != "" {
		err := stack.Remove(ctx, dir)
		if err != nil && !errors.Is(err, stack.ErrLocked) && ctx.Err() == nil {
			err = &app.Error{Kind: app.Refused, What: "demo", Err: err, Hint: "name a directory that is not there yet with --dir, or an earlier demonstration's"}
		}
		return dir, err
	}
	for n := 1; ; n++ {
		dir := demoDir
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", demoDir, n)
		}
		if err := stack.Remove(ctx, dir); !errors.Is(err, stack.ErrLocked) {
			return dir, err
		}
	}
}

// configure writes the demonstration's profile and settings. The user's own
// settings play no part.
func (d *demo) configure() (err error) {
	data := filepath.Join(d.stack.Dir(), "accession")
	if err := os.MkdirAll(filepath.Join(data, "profiles"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "profiles", "demo.yaml"), profiles.Demo, 0o644); err != nil {
		return err
	}
	at := d.stack.Addresses()
	d.cfg, err = config.Load(config.Sources{Flags: map[string]string{
		"instance": "demo", "zookeeper": at.ZooKeeper, "nats": at.NATS, "postgres": at.Postgres, "data_dir": data,
		"retry_delay": "200ms", "space_cycle": "500ms", "janitor_interval": "1s", "space_reserve": "64 MiB", "listen_ops": config.Off,
	}})
	return err
}

// startService runs all roles in this process; its log goes to a file.
func (d *demo) startService(ctx context.Context) error {
	d.logFile = filepath.Join(d.cfg.DataDir, "accession.log")
	file, err := os.Create(d.logFile)
	if err != nil {
		return err
	}
	d.closing = append(d.closing, file.Close)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan struct{}), make(chan error, 1)
	s := &run.Service{Config: d.cfg, Roles: run.AllRoles, Version: Version, Ready: func() { close(ready) },
		Log: slog.New(slog.NewJSONHandler(file, nil))}
	go func() { ended <- s.Run(serving) }()
	select {
	case <-ready:
		d.closing = append(d.closing, func() error { stop(); return <-ended })
		d.step("The service runs: eleven daemons, the relay and the projector. Its log is %s", d.logFile)
		return nil
	case err := <-ended:
		stop()
		return err
	}
}

// serveSamples serves the sample deposits as a depositor's web server would.
func (d *demo) serveSamples() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("no free port on the loopback address: " + err.Error()) // the stack just found three
	}
	server := &http.Server{Handler: samples.Handler(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	d.closing = append(d.closing, func() error { err := server.Close(); <-ended; return err })
	return "http://" + listener.Addr().String()
}

// stop ends what was started, the last first.
func (d *demo) stop() error {
	if len(d.closing) > 1 {
		d.step("Stopping service and servers.")
	}
	var faults []error
	for i := len(d.closing) - 1; i >= 0; i-- {
		faults = append(faults, d.closing[i]())
	}
	d.closing = nil
	return errors.Join(faults...)
}

// relative shortens a path below the working directory.
func relative(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}

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
