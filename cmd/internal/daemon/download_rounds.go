package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
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

// rounds fetches the missing files. Failed ones are tried again after all others, with
// a pause that grows.
func (d *download) rounds(ctx context.Context) error {
	for n := 0; ; n++ {
		// The known states of the files may have been outdated.
		if err := d.endLost(ctx); err != nil {
			return err
		}
		todo := d.todo(n)
		if len(todo) == 0 {
			return d.failure()
		}
		if n > 0 {
			pause(ctx, d.pause)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		d.pause = 0
		if err := d.round(ctx, todo); err != nil {
			return err
		}
		if d.own != nil {
			return d.own
		}
		if n > 2*d.max { // each round is an attempt at every file of it
			return &logError{errors.New("another process keeps moving the files")}
		}
	}
}

// lost reports whether the log says that the file was fetched, but this claim does not
// have it.
func (d *download) lost(i int) bool {
	return !d.leftOut(i) && isFetched(d.state[i].State) && !d.got[i]
}

// todo lists the files to be fetched in round n: those that were not fetched according
// to the log, and those whose copy is lost.
func (d *download) todo(n int) (todo []int) {
	for i, f := range d.state {
		if f.State == domain.FileDiscovered || f.State == domain.FileDownloadingFailed || d.lost(i) && n < d.max {
			todo = append(todo, i)
		}
	}
	return todo
}

func (d *download) round(ctx context.Context, todo []int) error {
	parallel := d.task.Profile.Fetch.Parallel
	most := min(max(len(todo)/(4*parallel), 1), chunkFiles)
	var g errgroup.Group // without a context: one bad file does not stop the others, a requeue needs only the bad one
	g.SetLimit(parallel)
	for len(todo) > 0 {
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
		if f := d.state[i]; !isFetched(f.State) {
			starts = append(starts, fileCommand{i, domain.StartDownload{Worker: d.task.Claim.Worker, Limits: d.limits(f, f.DownloadAttempts)}})
		}
	}
	if err := crash.Around("daemon/downloading/start", func() error { return d.do(ctx, "", starts) }); err != nil {
		return err
	}
	had := make([]partial, 0, len(todo))
	for _, i := range todo {
		if f := d.state[i]; !d.mine(f) && !isFetched(f.State) {
			continue // another process moved it
		}
		had = append(had, d.one(ctx, i))
		if err := ctx.Err(); err != nil {
			for _, h := range had {
				h.abort()
			}
			return err
		}
	}
	commitAll(had)
	for _, h := range had {
		f := d.state[h.i]
		d.got[h.i], d.errs[h.i] = h.err == nil, h.err
		var end domain.FileCommand
		if h.err != nil {
			end = d.failed(h.i, h.err) // the size and digest are not known
		} else {
			end = domain.FinishDownload{Fence: f.Fence, Size: h.m.Bytes(), SHA256: h.m.SHA256()}
		}
		if d.mine(f) {
			ends = append(ends, fileCommand{h.i, end})
		}
	}
	if err := crash.Around("daemon/downloading/end", func() error { return d.end(ctx, ends) }); err != nil {
		return err
	}
	d.progress(todo)
	return nil
}

// mine reports whether this claim makes an attempt at the file.
func (d *download) mine(f domain.File) bool {
	return f.State == domain.FileDownloading && f.Worker == d.task.Claim.Worker
}

// partial is a file that was written completely under a temporary name.
type partial struct {
	i    int
	part *store.Partial // nil when there is none, or it was ended
	m    payload.Measure
	err  error
}

// commit renames it to its name.
func (p *partial) commit() {
	if p.part != nil {
		p.err, p.part = p.part.Commit(), nil
	}
}

func (p *partial) abort() {
	if p.part != nil {
		p.part.Abort()
		p.part = nil
	}
}

// commitAll renames many at once: for small files most of the time is spent waiting for
// the disk, which they can do together.
func commitAll(all []partial) {
	var g errgroup.Group
	for i := range all {
		g.Go(func() error { all[i].commit(); return nil })
	}
	_ = g.Wait() // each keeps its own error
}

// one puts one file into the claim's directory: a copy that an earlier claim has left,
// else from the depositor.
func (d *download) one(ctx context.Context, i int) partial {
	if d.found[i].from != nil {
		if got := d.copy(i); got.err == nil {
			return got
		}
	}
	return d.put(i, func(w io.Writer) error {
		return d.Get(ctx, d.task.Profile, d.files[i], w, int64(d.task.Profile.Limits.MaxFileBytes))
	})
}

// copy copies the file that was found.
func (d *download) copy(i int) partial {
	return d.put(i, func(w io.Writer) error {
		r, err := d.found[i].from.Open(d.files[i].Name)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		_, err = io.Copy(w, r)
		return err
	})
}

// put writes one file under a temporary name, and removes it if it is not what the
// deposit says.
func (d *download) put(i int, write func(io.Writer) error) partial {
	got := partial{i: i}
	if got.part, got.err = d.claim.Create(d.files[i].Name); got.err != nil {
		got.part = nil
		return got
	}
	if got.m, got.err = payload.NewMeasure(d.files[i]); got.err == nil {
		got.err = write(io.MultiWriter(got.part, got.m))
	}
	if got.err == nil {
		got.err = got.m.Check()
	}
	if got.err == nil && !d.same(i, got.m) {
		got.err = reason.Content(domain.CodeDigestMismatch, "its content is another one than before: the SHA-256 was %s and is %s", d.state[i].SHA256, got.m.SHA256())
	}
	if got.err != nil {
		got.abort()
	}
	return got
}

// failed returns the end of an attempt that failed. If another attempt cannot help, the
// file is given up at once. A failure of our own servers does not use up an attempt,
// unless the job fails with it.
func (d *download) failed(i int, err error) domain.FileCommand {
	f := d.state[i]
	again, after := fetch.MayRetry(err)
	limits := domain.Limits{Max: d.max}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case ours(err):
		if limits.Max = f.DownloadAttempts + 1; d.task.lastTry() && d.trouble(err, "").verb == verbRetry {
			limits.Max = f.DownloadAttempts // the job fails with it
		}
		if d.own == nil {
			d.own = fmt.Errorf("%s: %w", d.files[i].Name, err)
		}
	case !again:
		limits.Max = max(f.DownloadAttempts, 1)
	default: // the delay that the server requests, if it is longer
		d.pause = max(d.pause, min(max(d.cfg.delay(f.DownloadAttempts), after), max(maxDelay, d.cfg.RetryDelay)))
	}
	why := reason.Of(err, "")
	d.task.Log.Info("an attempt to fetch failed", "file", d.files[i].Name, "try", f.DownloadAttempts, "of", limits.Max, "code", why.Code,
		"error", err, "cause", errors.Unwrap(err))
	return domain.FailDownload{Fence: f.Fence, Reason: why, Limits: limits}
}

// failure returns the error of the first file that cannot be fetched, or nil.
func (d *download) failure() error {
	var failed []int
	for i, f := range d.state {
		if f.State == domain.FileIgnore || f.State == domain.FileDownloading || d.lost(i) {
			failed = append(failed, i)
		}
	}
	if failed == nil {
		return nil
	}
	i := failed[0]
	name, f, err := d.files[i].Name, d.state[i], d.errs[i]
	if err == nil && f.State == domain.FileIgnore && f.Reason != nil {
		err = &reason.Problem{Reason: *f.Reason}
	}
	if err == nil {
		err = movedError(name, f.State)
	} else {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if more := len(failed) - 1; more > 0 {
		return fmt.Errorf("%w (%d more files cannot be had)", err, more)
	}
	return err
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
