package daemon

import (
	"context"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

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
