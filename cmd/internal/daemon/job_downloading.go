package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// jobDownloading brings every file of the object into the working directory (J8,
// J9), each through its own life in the log. Files that an earlier claim has left
// there, and that are what the deposit says, are not fetched again.
func (s *steps) jobDownloading(ctx context.Context, t *JobTask) Outcome {
	p, out := s.profile(t)
	if out != nil {
		return *out
	}
	files, err := s.files(ctx, p, t)
	if err != nil {
		return s.downloadFailed(err, "the manifest could not be read")
	}
	if len(files) > p.Limits.MaxFiles {
		return fail(domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid,
			Message: fmt.Sprintf("the object has %d files, more than the %d that its collection allows", len(files), p.Limits.MaxFiles)})
	}
	work, err := s.work(p)
	if err != nil {
		return s.trouble(err, "open the working directory")
	}
	l, err := s.known(ctx, p, t, files)
	if err != nil {
		return s.downloadFailed(err, "")
	}
	d := transfer{lives: l, p: p, work: work, batch: t.Job.Configuration.BatchID,
		found: make([]found, len(files)), got: make([]bool, len(files)), errs: make([]error, len(files))}
	if err := d.run(ctx); err != nil {
		return s.downloadFailed(err, "")
	}
	cmd := domain.DownloadJob{}
	for i, f := range l.state {
		if !l.leftOut(i) {
			cmd.Files++
			cmd.Bytes = plus(cmd.Bytes, f.Size)
		}
	}
	cmd.Priority = p.Priority.ForObject(t.Job.Priority, cmd.Bytes)
	return nextJob(cmd)
}

// downloadFailed tells what the depositor's side did wrong from what ours did.
func (s *steps) downloadFailed(err error, doing string) Outcome {
	var away *logError
	if !errors.As(err, &away) && !ours(err) {
		return fail(reasonOf(err, doing))
	}
	return s.trouble(err, "keep the files")
}

// ours reports whether an error is a matter of our own side.
func ours(err error) bool {
	var why *problem
	return !theirs(err) && !errors.As(err, &why)
}

// transfer is the work of one claim in downloading.
type transfer struct {
	*lives
	p     Profile
	work  *store.Work
	batch domain.BatchID

	old  *store.Files  // what an earlier claim has put into place, nil = nothing
	left []*store.Left // what claims have left behind that did not come so far

	// By file; each is touched by one goroutine at a time.
	found []found
	got   []bool // it is in this claim's directory
	errs  []error

	mu      sync.Mutex
	own     error         // the first that is a matter of our own side
	wait    time.Duration // before what failed is tried again
	done    int           // files fetched by this claim
	fetched int64         // their bytes
}

// found is a valid copy of a file, from nil = there is none.
type found struct {
	from *store.Files
	size int64
	sha  string
}

// run leaves all files in place and ready, or those that could be had and the
// error of the first that could not.
func (d *transfer) run(ctx context.Context) error {
	if err := d.takeOver(ctx); err != nil {
		return err
	}
	defer d.close()
	if err := d.open(); err != nil {
		return err
	}
	if err := d.look(ctx); err != nil {
		return err
	}
	if d.inPlace() {
		d.t.Log.Info("the files of an earlier claim are there and good")
		return d.ready(ctx)
	}
	claim, err := d.work.Claim(d.batch, d.t.Job.ID, d.t.Claim.ID)
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() == nil { // else a successor goes on with what is there
			_ = claim.Abandon()
		}
	}()
	if err := d.adopt(ctx, claim); err != nil {
		return err
	}
	failed := d.rounds(ctx, claim)
	if slices.Contains(d.got, true) {
		failed = errors.Join(failed, d.win(ctx, claim))
	}
	if failed != nil {
		return failed
	}
	return d.ready(ctx)
}

// takeOver ends the attempts of workers that are gone and takes up again what was
// given up before a requeue.
func (d *transfer) takeOver(ctx context.Context) error {
	err := d.endLost(ctx)
	if err == nil {
		err = d.reopen(ctx, domain.FileIgnore)
	}
	if err != nil {
		return err
	}
	return d.each(ctx, "", func(f domain.File) domain.FileCommand {
		limits := d.limits(f, f.DownloadAttempts)
		if f.State != domain.FileDownloadingFailed || !limits.Exhausted(f.DownloadAttempts) {
			return nil
		}
		return domain.RecoverFile{Limits: domain.FileLimits{Download: limits, Processing: limits}}
	})
}

// endLost ends attempts under way while this claim makes none: whoever makes them
// has lost the claim.
func (d *transfer) endLost(ctx context.Context) error {
	return d.lives.endLost(ctx, func(f domain.File) domain.FileCommand {
		if f.State != domain.FileDownloading {
			return nil
		}
		return domain.FailDownload{Fence: f.Fence, Reason: domain.WorkerLost(f.Worker), Limits: domain.Limits{Max: d.max}}
	})
}

// open opens what earlier claims have left.
func (d *transfer) open() (err error) {
	d.old, err = d.work.Files(d.batch, d.t.Job.ID)
	if err != nil && store.CodeOf(err) != store.CodeNotFound {
		return err
	}
	d.left, err = d.work.Left(d.batch, d.t.Job.ID, d.t.Claim.ID)
	return err
}

func (d *transfer) close() {
	if d.old != nil {
		_ = d.old.Close()
	}
	for _, l := range d.left {
		_ = l.Close()
	}
}

// look measures the copies that are there, takes them where the file was not
// fetched yet (F3), and sends back files whose copy is gone or damaged (F8).
func (d *transfer) look(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(d.p.Fetch.Parallel)
	for i := range d.files {
		if !d.leftOut(i) && (d.old != nil || d.left != nil) {
			g.Go(func() error { d.find(i); return gctx.Err() })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var asks []ask
	for i, f := range d.state {
		switch c := d.found[i]; {
		case f.State == domain.FileDiscovered && c.from != nil:
			asks = append(asks, ask{i, domain.FileAlreadyThere{Size: c.size, SHA256: c.sha}})
		case f.State == domain.FileDownloaded && c.from == nil:
			why := domain.Reason{Class: domain.ClassSystem, Code: CodeFilesMissing, Message: "its copy in the working directory is gone or damaged"}
			asks = append(asks, ask{i, domain.FailValidation{Reason: why, Limits: domain.Limits{Max: f.DownloadAttempts + 1}}})
		}
	}
	return d.do(ctx, "", asks)
}

// find looks for a copy that is what the deposit and the log say.
func (d *transfer) find(i int) {
	try := func(from *store.Files) bool {
		r, err := from.Open(d.files[i].Name)
		if err != nil {
			return false
		}
		m, err := measured(r, d.files[i])
		_ = r.Close()
		if err != nil || !d.same(i, m) {
			return false
		}
		d.found[i] = found{from, m.Bytes(), m.SHA256()}
		return true
	}
	if d.old != nil && try(d.old) {
		return
	}
	for _, l := range d.left {
		if try(&l.Files) {
			return
		}
	}
}

// same reports whether the content is that which the log has of the file, if it
// has one.
func (d *transfer) same(i int, m measure) bool {
	f := d.state[i]
	return f.SHA256 == "" || !fetchedState(f.State) || f.SHA256 == m.SHA256()
}

// fetchedState is one in which the log says that the file is in its place.
func fetchedState(s domain.FileState) bool {
	switch s {
	case domain.FileNone, domain.FileDiscovered, domain.FileDownloading, domain.FileDownloadingFailed, domain.FileIgnore:
		return false
	default:
		return true
	}
}

// inPlace reports whether nothing is left to do but to make the files ready.
func (d *transfer) inPlace() bool {
	for i, f := range d.state {
		if !d.leftOut(i) && (!fetchedState(f.State) || d.old == nil || d.found[i].from != d.old) {
			return false
		}
	}
	return true
}

// adopt copies what is there and fetched into the claim's directory.
func (d *transfer) adopt(ctx context.Context, claim *store.Claim) error {
	var g errgroup.Group
	g.SetLimit(d.p.Fetch.Parallel)
	for i, f := range d.state {
		if d.leftOut(i) || !fetchedState(f.State) || d.found[i].from == nil {
			continue
		}
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			got := d.copy(claim, i)
			got.commit()
			err := got.err
			var damaged *problem
			if d.got[i] = err == nil; errors.As(err, &damaged) {
				return nil // it changed since: it is fetched again
			}
			return err
		})
	}
	return g.Wait()
}

// win makes the claim's files those of the job.
func (d *transfer) win(ctx context.Context, claim *store.Claim) error {
	if err := ctx.Err(); err != nil {
		return err // the claim is lost: a successor may be at work
	}
	crash.Point("daemon/downloading/before-win")
	if d.old != nil {
		if err := d.work.Discard(d.batch, d.t.Job.ID); err != nil {
			return err
		}
		crash.Point("daemon/downloading/after-discard")
	}
	err := claim.Win()
	crash.Point("daemon/downloading/after-win")
	for _, l := range d.left {
		if err == nil {
			err = l.Remove()
		}
	}
	return err
}

// ready lets the files be processed (F10). All must be so before the job moves.
func (d *transfer) ready(ctx context.Context) error {
	err := d.each(ctx, "", func(f domain.File) domain.FileCommand {
		if f.State != domain.FileDownloaded {
			return nil
		}
		return domain.ReadyFile{}
	})
	if err != nil {
		return err
	}
	for i, f := range d.state {
		if !d.leftOut(i) && (!fetchedState(f.State) || f.State == domain.FileDownloaded) {
			return &logError{fmt.Errorf("%s is %s: somebody else moved it", d.files[i].Name, f.State)}
		}
	}
	crash.Point("daemon/downloading/after-ready")
	return nil
}
