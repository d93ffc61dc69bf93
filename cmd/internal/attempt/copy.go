package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/validate"
	"github.com/accession-ingest/accession/domain"
)

// Damaged says that the local copy of a file is not what was downloaded.
type Damaged struct{ Code domain.Code }

// Error implements error.
func (d *Damaged) Error() string {
	if d.Code == validate.CodeMissing {
		return "its local copy is gone"
	}
	return "its local copy is not what was downloaded"
}

// Content opens the local copy of the file. The error is a *[Damaged] if it is gone.
func (a *Attempt) Content(ctx context.Context) (*os.File, error) {
	f, err := a.all.Contents.Open(a.Hash, a.file.SHA256)
	return present(ctx, f, err)
}

// present returns a file that was opened. The error is a *[Damaged] if it is gone.
func present(ctx context.Context, f *os.File, err error) (*os.File, error) {
	if missing, ok := errors.AsType[*store.Error](err); ok && missing.Code == store.CodeNotFound {
		return nil, &Damaged{validate.CodeMissing}
	}
	return f, errors.Join(ctx.Err(), err)
}

// Copy copies the content of the file into a new one, so that the command of a worker cannot
// change it. The error is a *[Damaged] if the content is not what was downloaded.
func (a *Attempt) Copy(ctx context.Context, name string) error {
	from, err := a.Content(ctx)
	if err != nil {
		return err
	}
	return copied(ctx, from, name, a.file.SHA256)
}

// copied copies an open file, which it closes, into a new one, and compares its digest.
func copied(ctx context.Context, from *os.File, name, want string) error {
	defer from.Close()
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	digest := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, digest), reader{ctx, from})
	if err = errors.Join(err, to.Close()); err == nil && hex.EncodeToString(digest.Sum(nil)) != want {
		err = &Damaged{domain.CodeDigestMismatch}
	}
	return err
}

// reader reads until a context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
