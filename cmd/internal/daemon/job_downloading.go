package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// jobDownloading brings every file of the object into the working directory (J8,
// J9). Files that an earlier attempt has left there, and that are what the deposit
// says, are not fetched again.
func (s *steps) jobDownloading(ctx context.Context, t *JobTask) Outcome {
	out := s.download(ctx, t)
	if out.verb == verbNext || out.verb == verbFail {
		s.space.free(t.Job.ID) // what was written shows as less free space
	}
	return out
}

func (s *steps) download(ctx context.Context, t *JobTask) Outcome {
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
	d := transfer{s: s, t: t, p: p, work: work, batch: t.Job.Configuration.BatchID, files: files}
	if err := d.run(ctx); err != nil {
		return s.downloadFailed(err, "")
	}
	return nextJob(domain.DownloadJob{Files: len(files), Bytes: d.bytes.Load(), Priority: p.Priority.ForObject(t.Job.Priority, d.bytes.Load())})
}

// downloadFailed tells what the depositor's side did wrong from what ours did.
func (s *steps) downloadFailed(err error, doing string) Outcome {
	var why *problem
	if theirs(err) || errors.As(err, &why) {
		return fail(reasonOf(err, doing))
	}
	return s.trouble(err, "keep the files")
}

// transfer is the work of one claim in downloading.
type transfer struct {
	s     *steps
	t     *JobTask
	p     Profile
	work  *store.Work
	batch domain.BatchID
	files []file
	bytes atomic.Int64 // of all files
}

// run leaves all files in place, or those that could be had and the error of the
// first that could not.
func (d *transfer) run(ctx context.Context) error {
	old, err := d.work.Files(d.batch, d.t.Job.ID)
	if err != nil && store.CodeOf(err) != store.CodeNotFound {
		return err
	}
	if old != nil {
		defer func() { _ = old.Close() }()
		if d.complete(old) {
			d.t.Log.Info("the files of an earlier attempt are there and good")
			return nil
		}
	}
	claim, err := d.work.Claim(d.batch, d.t.Job.ID, d.t.Claim.ID)
	if err != nil {
		return err
	}
	defer func() { _ = claim.Abandon() }()
	d.bytes.Store(0)
	var got atomic.Int32
	g := errgroup.Group{} // without a context: one bad file does not stop the others, a requeue needs only the bad one
	g.SetLimit(d.p.Fetch.Parallel)
	for _, f := range d.files {
		g.Go(func() error {
			if err := d.one(ctx, claim, old, f); err != nil {
				return err
			}
			got.Add(1)
			return nil
		})
	}
	failed := g.Wait()
	if got.Load() == 0 {
		return failed
	}
	return errors.Join(failed, d.win(ctx, claim, old != nil))
}

// complete reports whether all files are there and are what the deposit says.
func (d *transfer) complete(old *store.Files) bool {
	d.bytes.Store(0)
	for _, f := range d.files {
		r, err := old.Open(f.Name)
		if err != nil {
			return false
		}
		m, err := measured(r, f)
		_ = r.Close()
		if err != nil {
			return false
		}
		d.bytes.Store(plus(d.bytes.Load(), m.Bytes()))
	}
	return true
}

// one brings one file into the claim's directory, from the earlier attempt when
// that has it.
func (d *transfer) one(ctx context.Context, claim *store.Claim, old *store.Files, f file) error {
	if old != nil {
		if r, err := old.Open(f.Name); err == nil {
			err = d.put(claim, f, func(w io.Writer) error { _, err := io.Copy(w, r); return err })
			_ = r.Close()
			if err == nil {
				return nil
			}
		}
	}
	err := d.s.attempts(ctx, d.t.Log, d.p, func() error {
		return d.put(claim, f, func(w io.Writer) error {
			return d.s.get(ctx, d.p, f, w, int64(d.p.Limits.MaxFileBytes))
		})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// put writes one file under a temporary name and keeps it if it is what the
// deposit says.
func (d *transfer) put(claim *store.Claim, f file, write func(io.Writer) error) error {
	part, err := claim.Create(f.Name)
	if err != nil {
		return err
	}
	m, err := newMeasure(f)
	if err == nil {
		err = write(io.MultiWriter(part, m))
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		part.Abort()
		return err
	}
	if err := part.Commit(); err != nil {
		return err
	}
	addBytes(&d.bytes, m.Bytes())
	return nil
}

// win makes the claim's files those of the job.
func (d *transfer) win(ctx context.Context, claim *store.Claim, replace bool) error {
	if err := ctx.Err(); err != nil {
		return err // the claim is lost: a successor may be at work
	}
	crash.Point("daemon/downloading/before-win")
	if replace {
		if err := d.work.Discard(d.batch, d.t.Job.ID); err != nil {
			return err
		}
		crash.Point("daemon/downloading/after-discard")
	}
	err := claim.Win()
	crash.Point("daemon/downloading/after-win")
	return err
}

func addBytes(sum *atomic.Int64, n int64) {
	for {
		had := sum.Load()
		if sum.CompareAndSwap(had, plus(had, n)) {
			return
		}
	}
}
