package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// jobDownloading brings every file of the object into the working directory (J8,
// J9), each through its own attempts in the log. Files that an earlier claim has left
// there, and that are what the deposit says, are not fetched again.
func (s *steps) jobDownloading(ctx context.Context, t *JobTask) Outcome {
	files, err := s.Files(ctx, t.Profile, t.Job)
	if err != nil {
		return s.notListed(t, err)
	}
	groups := limits.GroupServers(payload.Hosts(files))
	if out, ok := t.alsoAt(ctx, groups.Servers[0]); !ok {
		return out
	}
	work, err := s.Work(t.Profile)
	if err != nil {
		return s.errorOutcome(err, "open the working directory")
	}
	fs, err := s.discovered(ctx, t, files)
	if err != nil {
		return s.downloadFailed(err, "")
	}
	d := download{fileStates: fs, work: work, groups: groups, batch: t.Job.Configuration.BatchID, found: make([]found, len(files)),
		got: make([]bool, len(files)), tried: make([]bool, len(files)), early: make([]time.Duration, len(files)), errs: make([]error, len(files))}
	err = d.run(ctx)
	var later *laterError
	switch {
	case errors.As(err, &later) && later.why != nil:
		out := wait(*later.why, later.delay)
		out.server = later.server
		return out
	case errors.As(err, &later):
		return release(nil)
	case payload.IsRemote(err): // of a file whose copy was lost
		return retry(reason.Of(err, ""), err, t.Profile.Fetch.Attempts)
	case err != nil:
		return s.downloadFailed(err, "")
	}
	cmd := domain.DownloadJob{}
	if fs.packed() {
		cmd.Space = fs.state[0].Size
		if fs, err = s.unpack(ctx, t, fs, work); err != nil {
			return s.downloadFailed(err, "")
		}
	}
	for i, f := range fs.state {
		if !fs.leftOut(i) {
			cmd.Files++
			cmd.Bytes = plus(cmd.Bytes, f.Size)
		}
	}
	cmd.Space = plus(cmd.Space, cmd.Bytes)
	cmd.Priority = t.Profile.Priority.ForObject(t.Job.Priority, cmd.Bytes)
	return nextJob(cmd)
}

// notListed returns the outcome of a step that could not list the files of its job.
func (s *steps) notListed(t *JobTask, err error) Outcome {
	const what = "the manifest could not be read"
	if payload.IsRemote(err) {
		return retry(reason.Of(err, what), err, t.Profile.Fetch.Attempts)
	}
	return s.downloadFailed(err, what)
}

// downloadFailed returns the outcome of a failure: the job fails if the cause is on the
// depositor's side.
func (s *steps) downloadFailed(err error, doing string) Outcome {
	if !isAway(err) && !isLocal(err) {
		return fail(reason.Of(err, doing))
	}
	return s.errorOutcome(err, "keep the files")
}

// isLocal reports whether the cause of an error is on this side, not the depositor's.
func isLocal(err error) bool {
	var why *reason.Problem
	return !payload.IsRemote(err) && !errors.As(err, &why)
}

// download is the work of one claim in downloading.
type download struct {
	*fileStates
	work   *store.Work
	batch  domain.BatchID
	groups limits.Groups
	claim  *store.Claim

	old    *store.Files   // what an earlier claim has put into place, nil = nothing
	left   []*store.Left  // partial files that earlier claims have left
	copies []*store.Files // both

	until time.Time // when no more transfers begin, zero = none has begun

	// By file; each is touched by one goroutine at a time.
	found []found
	got   []bool          // it is in this claim's directory
	tried []bool          // this claim has made an attempt
	early []time.Duration // until the next attempt may begin
	errs  []error

	mu      sync.Mutex
	own     error         // the first error whose cause is on our side
	asked   time.Duration // how long a server asks to wait
	done    int           // files fetched by this claim
	fetched int64         // their bytes
}

// laterError says that the files that are missing are to be tried again after a time.
type laterError struct {
	why    *domain.Reason // nil = the step's time is over
	delay  time.Duration
	server string // that is busy, "" = it is not that
}

// Error implements error.
func (e *laterError) Error() string {
	if e.why == nil {
		return "the step's time is over"
	}
	return e.why.Message
}

// found is a valid copy of a file, from nil = there is none.
type found struct {
	from *store.Files
	size int64
	sha  string
}

// run fetches all files and makes them ready. On an error the files that could be
// fetched stay; it is the error of the first that could not.
func (d *download) run(ctx context.Context) (err error) {
	defer d.close()
	if err := d.takeOver(ctx); err != nil {
		return err
	}
	if err := inOrder(ctx, d.tooEarly, d.open, d.findMissing); err != nil {
		return err
	}
	defer func() {
		var later *laterError
		kept := errors.As(err, &later) && slices.Contains(d.got, true)
		if d.claim != nil && !kept && ctx.Err() == nil { // else the next claim continues with the files that are there
			_ = d.claim.Abandon()
		}
	}()
	failed := d.inGroups(ctx, d.missing)
	var later *laterError
	if errors.As(failed, &later) || d.own != nil || ctx.Err() != nil {
		return failed
	}
	// Only now are the files of earlier claims read, and not at each attempt.
	if err := d.findFetched(ctx); err != nil {
		return err
	}
	if d.claim == nil && d.allFetched() {
		d.task.Log.Info("the files of an earlier claim are there and good")
		return d.ready(ctx)
	}
	if err := d.begin(); err != nil {
		return err
	}
	if err := d.adopt(ctx); err != nil {
		return err
	}
	if failed == nil {
		failed = d.inGroups(ctx, func(i int) bool { return d.missing(i) || d.lost(i) })
	}
	if slices.Contains(d.got, true) {
		failed = errors.Join(failed, d.commitClaim(ctx))
	}
	if failed != nil {
		return failed
	}
	return d.ready(ctx)
}

// begin makes the directory of the claim, unless it is there.
func (d *download) begin() (err error) {
	if d.claim == nil {
		d.claim, err = d.work.Claim(d.batch, d.task.Job.ID, d.task.Claim.ID)
	}
	return err
}

// takeOver ends the attempts of workers that have lost the claim, and reopens files
// that were given up before a requeue.
func (d *download) takeOver(ctx context.Context) error {
	reopen := func(ctx context.Context) error { return d.reopen(ctx, domain.FileIgnore) }
	giveUp := func(ctx context.Context) error {
		return d.each(ctx, "", func(f domain.File) domain.FileCommand {
			limits := d.limits(f, f.DownloadAttempts)
			if f.State != domain.FileDownloadingFailed || !limits.Exhausted(f.DownloadAttempts) {
				return nil
			}
			return domain.RecoverFile{Limits: domain.FileLimits{Download: limits, Processing: limits}}
		})
	}
	return inOrder(ctx, d.endLost, reopen, giveUp)
}

// inOrder runs steps one after the other, up to the first error.
func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// endLost ends open attempts before this claim makes any: their workers have lost the
// claim.
func (d *download) endLost(ctx context.Context) error {
	return d.fileStates.endLost(ctx, func(f domain.File) domain.FileCommand {
		if f.State != domain.FileDownloading {
			return nil
		}
		return domain.FailDownload{Fence: f.Fence, Reason: domain.WorkerLost(f.Worker), Limits: domain.Limits{Max: d.max}}
	})
}

// open opens what earlier claims have left.
func (d *download) open(context.Context) (err error) {
	d.old, err = d.work.Files(d.batch, d.task.Job.ID)
	if err != nil && store.CodeOf(err) != store.CodeNotFound {
		return err
	}
	if d.old != nil {
		d.copies = append(d.copies, d.old)
	}
	d.left, err = d.work.Left(d.batch, d.task.Job.ID, d.task.Claim.ID)
	for _, l := range d.left {
		d.copies = append(d.copies, &l.Files)
	}
	return err
}

func (d *download) close() {
	if d.claim != nil {
		d.claim.Close()
	}
	for _, c := range d.copies {
		_ = c.Close()
	}
}

// findMissing uses copies that earlier claims have left of files that were not fetched
// yet according to the log (F3).
func (d *download) findMissing(ctx context.Context) error {
	if err := d.findCopies(ctx, func(i int) bool { return !payload.Fetched(d.state[i].State) }); err != nil {
		return err
	}
	var cmds []fileCommand
	for i, f := range d.state {
		if c := d.found[i]; f.State == domain.FileDiscovered && c.from != nil {
			cmds = append(cmds, fileCommand{i, domain.FileAlreadyThere{Size: c.size, SHA256: c.sha}})
		}
	}
	return d.do(ctx, "", cmds)
}

// findFetched measures the copies of files that earlier claims have fetched, and fails
// files whose copy is missing or damaged (F8).
func (d *download) findFetched(ctx context.Context) error {
	other := func(i int) bool { return payload.Fetched(d.state[i].State) && !d.got[i] && d.found[i].from == nil }
	if err := d.findCopies(ctx, other); err != nil {
		return err
	}
	var cmds []fileCommand
	for i, f := range d.state {
		if f.State == domain.FileDownloaded && other(i) {
			why := domain.Reason{Class: domain.ClassSystem, Code: reason.CodeFilesMissing, Message: "its copy in the working directory is gone or damaged"}
			cmds = append(cmds, fileCommand{i, domain.FailValidation{Reason: why, Limits: domain.Limits{Max: f.DownloadAttempts + 1}}})
		}
	}
	return d.do(ctx, "", cmds)
}

// findCopies measures the existing copies of some files.
func (d *download) findCopies(ctx context.Context, which func(i int) bool) error {
	if d.copies == nil {
		return nil
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(d.task.Profile.Fetch.Parallel)
	for i := range d.files {
		if !d.leftOut(i) && which(i) {
			g.Go(func() error { d.found[i] = d.find(i); return gctx.Err() })
		}
	}
	return g.Wait()
}

// find returns the first copy that agrees with the deposit and the log.
func (d *download) find(i int) found {
	for _, from := range d.copies {
		r, err := from.Open(d.files[i].Name)
		if err != nil {
			continue
		}
		m, err := payload.Measured(r, d.files[i])
		_ = r.Close()
		if err == nil && d.same(i, m) {
			return found{from, m.Bytes(), m.SHA256()}
		}
	}
	return found{}
}

// same reports whether the content is that which the log has of the file, if it
// has one.
func (d *download) same(i int, m payload.Measure) bool {
	f := d.state[i]
	return f.SHA256 == "" || !payload.Fetched(f.State) || f.SHA256 == m.SHA256()
}

// differs returns an error unless it is.
func (d *download) differs(i int, m payload.Measure) error {
	if d.same(i, m) {
		return nil
	}
	return reason.Content(domain.CodeDigestMismatch, "its content is another one than before: the SHA-256 was %s and is %s", d.state[i].SHA256, m.SHA256())
}

// allFetched reports whether all files are fetched.
func (d *download) allFetched() bool {
	for i, f := range d.state {
		if !d.leftOut(i) && (!payload.Fetched(f.State) || d.old == nil || d.found[i].from != d.old) {
			return false
		}
	}
	return true
}

// adopt copies fetched files of earlier claims into the claim's directory.
func (d *download) adopt(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(d.task.Profile.Fetch.Parallel)
	for i, f := range d.state {
		if d.leftOut(i) || !payload.Fetched(f.State) || d.found[i].from == nil || d.got[i] {
			continue
		}
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			got := d.copy(i)
			got.Commit()
			var damaged *reason.Problem
			if d.got[i] = got.Err == nil; errors.As(got.Err, &damaged) {
				return nil // it changed since: it is fetched again
			}
			return got.Err
		})
	}
	return g.Wait()
}

// commitClaim makes the claim's directory that of the job.
func (d *download) commitClaim(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // the claim is lost: another worker may have the job
	}
	var err error
	if d.old != nil {
		err = crash.Around("daemon/downloading/discard", func() error { return d.work.Discard(d.batch, d.task.Job.ID) })
	}
	if err == nil {
		err = crash.Around("daemon/downloading/win", d.claim.Commit)
	}
	for _, l := range d.left {
		if err == nil {
			err = l.Remove()
		}
	}
	return err
}

// ready makes the files ready (F10), unless they are unpacked first. All must be ready before
// the job moves.
func (fs *fileStates) ready(ctx context.Context) error {
	if fs.packed() {
		return nil
	}
	err := crash.Around("daemon/downloading/ready", func() error { return fs.inState(ctx, "", domain.FileDownloaded, domain.ReadyFile{}) })
	if err != nil {
		return err
	}
	for i, f := range fs.state {
		if !fs.leftOut(i) && (!payload.Fetched(f.State) || f.State == domain.FileDownloaded) {
			return movedError(fs.files[i].Name, f.State)
		}
	}
	return nil
}
