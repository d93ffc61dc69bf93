package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Files whose attempts are written to the log together: so many at most, and no
// more bytes, so that small ones go fast and large ones are timed by themselves.
// A file of unknown size counts as one of unknownBytes.
const (
	chunkFiles   = 16
	chunkBytes   = 16 << 20
	unknownBytes = 1 << 20
)

// rounds fetches what is missing. What failed comes after all the others, and
// waits a little longer each time.
func (d *transfer) rounds(ctx context.Context, claim *store.Claim) error {
	for n := 0; ; n++ {
		// What was known of the files may have been outdated.
		if err := d.endLost(ctx); err != nil {
			return err
		}
		todo := d.todo(n)
		if len(todo) == 0 {
			return d.failure()
		}
		if n > 0 {
			pause(ctx, d.wait)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		d.wait = 0
		if err := d.round(ctx, claim, todo); err != nil {
			return err
		}
		if d.own != nil {
			return d.own
		}
		if n > 2*d.max { // each round is an attempt at every file of it
			return &logError{errors.New("somebody else keeps moving the files")}
		}
	}
}

// todo lists the files to be fetched in round n: those that the log says are not
// in their place, and those whose copy is lost although it does.
func (d *transfer) todo(n int) []int {
	var todo []int
	for i, f := range d.state {
		switch {
		case f.State == domain.FileDiscovered, f.State == domain.FileDownloadingFailed,
			!d.leftOut(i) && fetchedState(f.State) && !d.got[i] && n < d.max:
			todo = append(todo, i)
		}
	}
	return todo
}

func (d *transfer) round(ctx context.Context, claim *store.Claim, todo []int) error {
	most := min(max(len(todo)/(4*d.p.Fetch.Parallel), 1), chunkFiles)
	var g errgroup.Group // without a context: one bad file does not stop the others, a requeue needs only the bad one
	g.SetLimit(d.p.Fetch.Parallel)
	for len(todo) > 0 {
		n, bytes := 0, int64(0)
		for n < len(todo) && n < most && bytes < chunkBytes {
			size := d.state[todo[n]].Size
			if size == 0 {
				size = unknownBytes
			}
			bytes = plus(bytes, size)
			n++
		}
		chunk := todo[:n]
		todo = todo[n:]
		g.Go(func() error { return d.chunk(ctx, claim, chunk) })
	}
	return g.Wait()
}

// chunk makes an attempt at each of a few files: start (F2, F6), transfer, end
// (F4, F5, F7).
func (d *transfer) chunk(ctx context.Context, claim *store.Claim, todo []int) error {
	var starts []ask
	for _, i := range todo {
		if f := d.state[i]; !fetchedState(f.State) {
			starts = append(starts, ask{i, domain.StartDownload{Worker: d.t.Claim.Worker, Limits: d.limits(f, f.DownloadAttempts)}})
		}
	}
	if err := d.do(ctx, "", starts); err != nil {
		return err
	}
	crash.Point("daemon/downloading/after-start")
	had := make([]partial, 0, len(todo))
	for _, i := range todo {
		if f := d.state[i]; !d.mine(f) && !fetchedState(f.State) {
			continue // somebody else moved it
		}
		got := d.one(ctx, claim, i)
		had = append(had, got)
		if err := ctx.Err(); err != nil {
			for _, h := range had {
				h.abort()
			}
			return err
		}
	}
	commitAll(had)
	var ends []ask
	for _, h := range had {
		i, f := h.i, d.state[h.i]
		d.got[i], d.errs[i] = h.err == nil, h.err
		var end domain.FileCommand
		if h.err != nil {
			end = d.failed(i, h.err) // nothing was measured
		} else {
			end = domain.FinishDownload{Fence: f.Fence, Size: h.m.Bytes(), SHA256: h.m.SHA256()}
		}
		if d.mine(f) {
			ends = append(ends, ask{i, end})
		}
	}
	crash.Point("daemon/downloading/before-end")
	if err := d.end(ctx, ends); err != nil {
		return err
	}
	crash.Point("daemon/downloading/after-end")
	d.progress(todo)
	return nil
}

// one brings one file into the claim's directory, from an earlier claim when that
// has it.
func (d *transfer) one(ctx context.Context, claim *store.Claim, i int) partial {
	if d.found[i].from != nil {
		if got := d.copy(claim, i); got.err == nil {
			return got
		}
	}
	return d.fetch(ctx, claim, i)
}

// failed gives the end of an attempt that failed. What another attempt cannot mend
// is given up at once; what is our own fault is not held against the file, unless
// the job fails for it.
func (d *transfer) failed(i int, err error) domain.FileCommand {
	f := d.state[i]
	_, _, again, _ := verdict(err)
	limits := domain.Limits{Max: d.max}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case ours(err):
		if limits.Max = f.DownloadAttempts + 1; d.t.lastTry() && d.s.trouble(err, "").verb == verbRetry {
			limits.Max = f.DownloadAttempts // the job fails with it
		}
		if d.own == nil {
			d.own = fmt.Errorf("%s: %w", d.files[i].Name, err)
		}
	case !again:
		limits.Max = max(f.DownloadAttempts, 1)
	default:
		d.wait = max(d.wait, d.delay(f.DownloadAttempts, err))
	}
	why := reasonOf(err, "")
	d.t.Log.Info("an attempt to fetch failed", "file", d.files[i].Name, "try", f.DownloadAttempts, "of", limits.Max, "code", why.Code,
		"error", err, "cause", errors.Unwrap(err))
	return domain.FailDownload{Fence: f.Fence, Reason: why, Limits: limits}
}

// delay gives the time to the next attempt: doubled each time, or what the server
// asks for when that is longer.
func (d *transfer) delay(attempts int, err error) time.Duration {
	first := d.s.cfg.RetryDelay
	wait := first << min(max(attempts-1, 0), 10)
	var asks interface{ Retry() (bool, time.Duration) }
	if errors.As(err, &asks) {
		_, after := asks.Retry()
		wait = max(wait, after)
	}
	return min(wait, max(maxDelay, first))
}

// failure tells of the first file that cannot be had, or nil.
func (d *transfer) failure() error {
	var first error
	more := 0
	for i, f := range d.state {
		lost := !d.leftOut(i) && fetchedState(f.State) && !d.got[i]
		if f.State != domain.FileIgnore && f.State != domain.FileDownloading && !lost {
			continue
		}
		if first != nil {
			more++
			continue
		}
		name := d.files[i].Name
		switch {
		case d.errs[i] != nil:
			first = fmt.Errorf("%s: %w", name, d.errs[i])
		case f.State == domain.FileIgnore && f.Reason != nil:
			first = fmt.Errorf("%s: %w", name, &problem{*f.Reason})
		default:
			first = &logError{fmt.Errorf("%s is %s: somebody else moved it", name, f.State)}
		}
	}
	if more > 0 {
		return fmt.Errorf("%w (%d more files cannot be had)", first, more)
	}
	return first
}

// progress tells how far the job is, ten times for one of many files.
func (d *transfer) progress(chunk []int) {
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
		d.t.Log.Info("downloading", "fetched", d.done, "files", len(d.files), "bytes", d.fetched)
	}
}

// partial is a file that was written whole, and is not on disk under its name yet.
type partial struct {
	i    int
	part *store.Partial // nil when there is none, or it was ended
	m    measure
	err  error
}

// commit gives it its name.
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

// commitAll ends many at once: waiting for the disk is most of the time that a small
// file takes, and all can wait together.
func commitAll(all []partial) {
	var g errgroup.Group
	for i := range all {
		g.Go(func() error { all[i].commit(); return nil })
	}
	_ = g.Wait() // each keeps its own error
}

// mine reports whether this claim makes an attempt at the file.
func (d *transfer) mine(f domain.File) bool {
	return f.State == domain.FileDownloading && f.Worker == d.t.Claim.Worker
}

// copy takes the copy that was found.
func (d *transfer) copy(claim *store.Claim, i int) partial {
	return d.put(claim, i, func(w io.Writer) error {
		r, err := d.found[i].from.Open(d.files[i].Name)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		_, err = io.Copy(w, r)
		return err
	})
}

// fetch asks the depositor for it.
func (d *transfer) fetch(ctx context.Context, claim *store.Claim, i int) partial {
	return d.put(claim, i, func(w io.Writer) error {
		return d.s.get(ctx, d.p, d.files[i], w, int64(d.p.Limits.MaxFileBytes))
	})
}

// put writes one file under a temporary name, and throws it away if it is not what
// the deposit says.
func (d *transfer) put(claim *store.Claim, i int, write func(io.Writer) error) partial {
	got := partial{i: i}
	if got.part, got.err = claim.Create(d.files[i].Name); got.err != nil {
		got.part = nil
		return got
	}
	if got.m, got.err = newMeasure(d.files[i]); got.err == nil {
		got.err = write(io.MultiWriter(got.part, got.m))
	}
	if got.err == nil {
		got.err = got.m.check()
	}
	if got.err == nil && !d.same(i, got.m) {
		got.err = contentProblem(domain.CodeDigestMismatch, "its content is another one than before: the SHA-256 was %s and is %s", d.state[i].SHA256, got.m.SHA256())
	}
	if got.err != nil {
		got.abort()
	}
	return got
}
