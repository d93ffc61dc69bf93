package compute

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// holder is who has the claim of a worker with a session, as the names of outputs say it: an
// entry has no other claim with the same version.
const holder = "session"

// badOutput says why what a command has left cannot be an output.
type badOutput string

// Error implements error.
func (b badOutput) Error() string { return string(b) }

// outputs keeps the files that a command has left in a directory as outputs of the entry, and
// returns them. The error is a badOutput if they cannot be that.
func (w *Worker) outputs(ctx context.Context, e compute.Entry, dir string) ([]entry.Output, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) > entry.MaxOutputs {
		return nil, badOutput(fmt.Sprintf("the command has left %d outputs: %d are the limit", len(files), entry.MaxOutputs))
	}
	for _, f := range files {
		if err := w.fits(f); err != nil {
			return nil, err
		}
	}
	claim := store.OutputClaim{Entry: e.ID, Version: e.Version, Holder: holder}
	for _, f := range files {
		if err := w.put(ctx, claim, dir, f.Name()); err != nil {
			return nil, err
		}
	}
	return w.Outputs.Close(claim)
}

// fits refuses what cannot be an output.
func (w *Worker) fits(f fs.DirEntry) error {
	if err := entry.CheckOutput(f.Name()); err != nil {
		return badOutput(err.Error())
	}
	if !f.Type().IsRegular() {
		return badOutput(fmt.Sprintf("the output %q is no file", f.Name()))
	}
	info, err := f.Info()
	if err != nil {
		return err
	}
	if info.Size() > w.OutputLimit {
		return badOutput(fmt.Sprintf("the output %q has %d bytes: the setting upload_limit allows %d", f.Name(), info.Size(), w.OutputLimit))
	}
	return nil
}

func (w *Worker) put(ctx context.Context, claim store.OutputClaim, dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = w.Outputs.Put(claim, name, &reading{ctx, f}, ctx.Err)
	return err
}

// reading ends a read when its context ends.
type reading struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r *reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
