package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/transfer"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// The largest number of files, and of bytes, whose attempts are written to the log
// together, so that small files are fast and each large one has its own timeout. A file
// of unknown size counts as one of unknownBytes.
const (
	chunkFiles   = 16
	chunkBytes   = 16 << 20
	unknownBytes = 1 << 20
)

// maxRounds is how often a claim begins again because other processes move its files.
const maxRounds = 20

// inGroups makes an attempt at each of some files, those of a group of servers after those
// of the other. It returns what [download.failure] says of all in the end.
func (d *download) inGroups(ctx context.Context, which func(i int) bool) error {
	for n, servers := range d.groups.Servers {
		some := func(i int) bool { return d.groups.Has(n, d.files[i].Host()) && which(i) }
		if len(d.groups.Servers) > 1 && len(d.todo(some)) > 0 {
			if out, ok := d.task.alsoAt(ctx, servers); !ok {
				return &laterError{&out.reason, out.delay, out.server}
			}
		}
		err := d.rounds(ctx, some)
		if n == len(d.groups.Servers)-1 || d.own != nil || ctx.Err() != nil || len(d.todo(some)) > 0 {
			return err
		}
	}
	return nil
}

// rounds makes an attempt at each of some files. Those that fail are tried again by a
// later claim.
func (d *download) rounds(ctx context.Context, which func(i int) bool) error {
	for n := 0; ; n++ {
		// The known states of the files may have been outdated.
		if err := d.endLost(ctx); err != nil {
			return err
		}
		todo := d.todo(which)
		if len(todo) == 0 {
			return d.failure()
		}
		if err := cmp.Or(ctx.Err(), d.begin()); err != nil {
			return err
		}
		if d.until.IsZero() {
			d.until = time.Now().Add(d.cfg.StepTimeout)
		}
		if err := d.round(ctx, todo); err != nil {
			return err
		}
		switch {
		case d.own != nil:
			return d.own
		case d.over() && len(d.todo(which)) > 0:
			return &laterError{}
		case n > maxRounds:
			return &logError{errors.New("another process keeps moving the files")}
		}
	}
}

// over reports whether no more transfers begin: the worker is needed by other jobs.
func (d *download) over() bool { return time.Now().After(d.until) }

// missing reports whether the log says that the file was not fetched, and it may be
// tried now.
func (d *download) missing(i int) bool {
	s := d.state[i].State
	return s == domain.FileDiscovered || s == domain.FileDownloadingFailed && d.early[i] == 0
}

// lost reports whether the log says that the file was fetched, but this claim does not
// have it.
func (d *download) lost(i int) bool {
	return !d.leftOut(i) && payload.Fetched(d.state[i].State) && !d.got[i]
}

// todo lists those of some files that this claim has not tried.
func (d *download) todo(which func(i int) bool) (todo []int) {
	for i := range d.state {
		if which(i) && !d.tried[i] {
			todo = append(todo, i)
		}
	}
	return todo
}

// tooEarly finds out which files may not be tried again yet, by the log's clock. It
// returns a *laterError if no other file is missing.
func (d *download) tooEarly(ctx context.Context) error {
	var now domain.Time
	for i, f := range d.state {
		pause := d.cfg.pauses().Least(f.DownloadAttempts)
		if f.State != domain.FileDownloadingFailed || f.Failed.IsZero() || pause <= 0 || f.Reason == nil || uncounted(*f.Reason) {
			continue
		}
		if now.IsZero() {
			var err error
			if now, err = d.cfg.Files.Now(ctx); err != nil {
				return &logError{err}
			}
		}
		d.early[i] = max(f.Failed.Add(pause).Sub(now.Time), 0)
	}
	if slices.ContainsFunc(d.state, func(f domain.File) bool { return f.State == domain.FileIgnore }) || now.IsZero() {
		return nil
	}
	for i := range d.state {
		if d.missing(i) {
			return nil
		}
	}
	return d.failure()
}

// uncounted reports whether the cause of an ended attempt had nothing to do with the file's
// server: it need not be left alone for a time.
func uncounted(why domain.Reason) bool {
	return why.Class == domain.ClassSystem && why.Host == "" || why.Class == domain.ClassCancelled
}

func (d *download) round(ctx context.Context, todo []int) error {
	parallel := d.task.Profile.Fetch.Parallel
	most := min(max(len(todo)/(4*parallel), 1), chunkFiles)
	var g errgroup.Group // without a context: one bad file does not stop the others, a requeue needs only the bad one
	g.SetLimit(parallel)
	for len(todo) > 0 && !d.over() {
		n, bytes := 0, int64(0)
		for n < len(todo) && n < most && bytes < chunkBytes {
			bytes = plus(bytes, cmp.Or(d.state[todo[n]].Size, unknownBytes))
			n++
		}
		chunk := todo[:n]
		todo = todo[n:]
		g.Go(func() error { return d.chunk(ctx, chunk) })
	}
	return g.Wait()
}

// chunk makes an attempt at each of a few files: start (F2, F6), transfer, end
// (F4, F5, F7).
func (d *download) chunk(ctx context.Context, todo []int) error {
	var starts, ends []fileCommand
	for _, i := range todo {
		if f := d.state[i]; !payload.Fetched(f.State) {
			starts = append(starts, fileCommand{i, domain.StartDownload{Worker: d.task.Claim.Worker, Limits: d.limits(f, f.DownloadAttempts)}})
		}
	}
	if err := crash.Around("daemon/downloading/start", func() error { return d.do(ctx, "", starts) }); err != nil {
		return err
	}
	had := make([]transfer.Written, 0, len(todo))
	for _, i := range todo {
		if f := d.state[i]; !d.mine(f) && !payload.Fetched(f.State) {
			continue // another process moved it
		}
		if len(had) > 0 && d.over() {
			had = append(had, transfer.Written{File: i, Err: errOver})
			continue
		}
		d.tried[i] = true
		had = append(had, d.one(ctx, i))
		if err := ctx.Err(); err != nil {
			for _, h := range had {
				h.Abort()
			}
			d.giveBack(ctx)
			return err
		}
	}
	transfer.CommitAll(had)
	for _, h := range had {
		f := d.state[h.File]
		d.got[h.File], d.errs[h.File] = h.Err == nil, h.Err
		var end domain.FileCommand
		if h.Err != nil {
			end = d.failed(h.File, h.Err) // the size and digest are not known
		} else {
			end = domain.FinishDownload{Fence: f.Fence, Size: h.Is.Bytes(), SHA256: h.Is.SHA256()}
		}
		if d.mine(f) {
			ends = append(ends, fileCommand{h.File, end})
		}
	}
	if err := crash.Around("daemon/downloading/end", func() error { return d.end(ctx, ends) }); err != nil {
		return err
	}
	d.progress(todo)
	return nil
}

// errOver ends an attempt that has begun in the log only: the step's time is over.
var errOver = reason.System(codeReleased, "the time of the step was over before the transfer began")

// codeReleased is why an attempt was given back that nothing was wrong with.
const codeReleased domain.Code = "released"

// giveBack ends the open attempts of a claim that a stop of the service ends, so that
// they use nothing up. If the claim is lost its successor ends them.
func (d *download) giveBack(ctx context.Context) {
	d.fileStates.giveBack(ctx, func(f domain.File, why domain.Reason) domain.FileCommand {
		if !d.mine(f) {
			return nil
		}
		return domain.FailDownload{Fence: f.Fence, Reason: why, Limits: domain.Limits{Max: d.max}, Uncounted: true}
	})
}

// mine reports whether this claim makes an attempt at the file.
func (d *download) mine(f domain.File) bool {
	return f.State == domain.FileDownloading && f.Worker == d.task.Claim.Worker
}

// one puts one file into the claim's directory: a copy that an earlier claim has left,
// else from the depositor.
func (d *download) one(ctx context.Context, i int) transfer.Written {
	if d.found[i].from != nil {
		if got := d.copy(i); got.Err == nil {
			return got
		}
	}
	limits := payload.Limits{Bytes: int64(d.task.Profile.Limits.MaxFileBytes), Promised: d.state[i].Spec.Size}
	t := transfer.Transfer{Source: d.Source, Profile: d.task.Profile, Limits: limits, Log: d.task.Log, Same: func(m payload.Measure) error { return d.differs(i, m) },
		To: func(file io.Writer) io.Writer { return d.work.Reserved(file, d.cfg.SpaceReserve/2) }}
	return d.put(i, func(part *store.Partial) (payload.Measure, error) { return t.Get(ctx, d.files[i], part) })
}

// copy copies the file that was found.
func (d *download) copy(i int) transfer.Written {
	return d.put(i, func(part *store.Partial) (m payload.Measure, err error) {
		r, err := d.found[i].from.Open(d.files[i].Name)
		if err != nil {
			return m, err
		}
		defer func() { _ = r.Close() }()
		if m, err = payload.Measured(io.TeeReader(r, part), d.files[i]); err == nil {
			err = d.differs(i, m)
		}
		return m, err
	})
}

// put writes one file under a temporary name, and removes it if it is not what the
// deposit says.
func (d *download) put(i int, write func(*store.Partial) (payload.Measure, error)) transfer.Written {
	return transfer.Write(i, func() (*store.Partial, error) { return d.claim.Create(d.files[i].Name) }, func(part *store.Partial) (m payload.Measure, err error) {
		m, err = write(part)
		return m, reason.At(d.files[i].Host(), err)
	})
}

// failed returns the end of an attempt that failed. If another attempt cannot help, the
// file is given up at once. A failure of our own servers does not use up an attempt,
// unless the job fails with it.
func (d *download) failed(i int, err error) domain.FileCommand {
	f := d.state[i]
	again, after := fetch.MayRetry(err)
	end := domain.FailDownload{Fence: f.Fence, Reason: reason.Of(err, ""), Limits: domain.Limits{Max: d.max}}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == errOver: //nolint:errorlint // it is never wrapped
		end.Uncounted = true
	case isLocal(err):
		out := d.errorOutcome(err, "")
		last := out.verb == verbRetry && d.task.lastTry(out.most, false)
		end.Uncounted = out.verb != verbFail && !last
		if !end.Uncounted {
			end.Limits.Max = max(f.DownloadAttempts, 1) // the job fails with it
		}
		if d.own == nil {
			d.own = fmt.Errorf("%s: %w", d.files[i].Name, err)
		}
	case !again:
		end.Limits.Max = max(f.DownloadAttempts, 1)
	default:
		d.asked = max(d.asked, after)
	}
	d.task.Log.Info("an attempt to fetch failed", "file", d.files[i].Name, "try", f.DownloadAttempts, "of", end.Limits.Max, "code", end.Reason.Code,
		"uncounted", end.Uncounted, "error", err, "cause", errors.Unwrap(err))
	return end
}

// failure returns why not all files are there: the error of the first that cannot be
// fetched or, if all others may be tried again later, a *laterError.
func (d *download) failure() error {
	var final, waiting []int
	for i, f := range d.state {
		switch {
		case f.State == domain.FileIgnore || f.State == domain.FileDownloading || d.lost(i) && d.tried[i]:
			final = append(final, i)
		case f.State == domain.FileDownloadingFailed && (d.tried[i] || d.early[i] > 0):
			waiting = append(waiting, i)
		}
	}
	if final == nil {
		return d.later(waiting)
	}
	i := final[0]
	name, f, err := d.files[i].Name, d.state[i], d.errs[i]
	switch {
	case f.State == domain.FileIgnore && err != nil:
		err = &reason.Problem{Reason: reason.Of(err, name)} // its attempts are used up
	case f.State == domain.FileIgnore && f.Reason != nil:
		err = fmt.Errorf("%s: %w", name, &reason.Problem{Reason: *f.Reason})
	case err == nil:
		err = movedError(name, f.State)
	default:
		err = fmt.Errorf("%s: %w", name, err)
	}
	if more := len(final) - 1; more > 0 {
		return fmt.Errorf("%w (%d more files cannot be had)", err, more)
	}
	return err
}

// later returns when the first of some files may be tried again, nil without any.
func (d *download) later(waiting []int) error {
	if waiting == nil {
		return nil
	}
	first := waiting[0]
	why := *d.state[first].Reason
	why.Message = fmt.Sprintf("%s: %s; it is tried again, %d times in all", d.files[first].Name, why.Message, d.max)
	if more := len(waiting) - 1; more > 0 {
		why.Message += fmt.Sprintf(" (so are %d more files)", more)
	}
	pause := d.early[first]
	for _, i := range waiting {
		next := d.early[i]
		if d.tried[i] {
			next = d.cfg.pauses().Theirs(d.state[i].DownloadAttempts, d.asked)
		}
		if i == first || next < pause {
			pause = next
		}
	}
	return &laterError{why: &why, delay: pause}
}

// progress logs the progress of the job, about ten times for a job of many files.
func (d *download) progress(chunk []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.done
	for _, i := range chunk {
		if d.got[i] {
			d.done++
			d.fetched = plus(d.fetched, d.state[i].Size)
		}
	}
	if step := max(len(d.files)/10, chunkFiles); before/step != d.done/step {
		d.task.Log.Info("downloading", "fetched", d.done, "files", len(d.files), "bytes", d.fetched)
	}
}
