package drops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/domain/fair"
)

// Resumable is an upload whose file comes in pieces.
type Resumable = drop.Resumable

// Begin begins an upload of a deposit whose file, named d.Payload, has as many bytes as
// r.Size. Only r.Owner sees it. Under the same idempotency key it is begun once: again says
// that it was there. The error is of kind Full if too many deposits of the user wait, with
// those that are being uploaded.
func (r *Receiver) Begin(ctx context.Context, d app.Deposit, u Resumable) (_ Resumable, again bool, err error) {
	defer app.Explained(&err, "upload")
	folder, err := r.App.Open.Drop(true)
	if err != nil {
		return u, false, err
	}
	u.Deposit = described(r.App, d)
	if d.Key != "" {
		there, err := r.begun(ctx, folder, &u)
		if !errors.Is(err, drop.ErrNotFound) {
			return there, err == nil, err
		}
	}
	n, err := came(folder, d.Submitter, u.Owner)
	if err != nil {
		return u, false, err
	}
	if err := r.room(ctx, fair.QueueMetadata, d.Submitter, n, "deposits"); err != nil {
		return u, false, err
	}
	u, err = folder.Begin(u)
	if errors.Is(err, fs.ErrExist) && d.Key != "" { // another request under the key was faster
		u, err = folder.Resumable(u.Owner, u.ID)
		again = err == nil
	}
	return u, again, err
}

// begun returns the upload under its key. The error is drop.ErrNotFound if there is none yet:
// then u has the ID that it must have, which its deposit has too.
func (r *Receiver) begun(ctx context.Context, folder *drop.Folder, u *Resumable) (there Resumable, err error) {
	u.ID, err = r.keep(ctx, u.Deposit, struct {
		Deposit drop.Deposit
		Owner   string // others do not see it, and begin their own
		Size    int64
		SHA256  string
	}{u.Deposit, u.Owner, u.Size, u.SHA256})
	if err != nil {
		return there, err
	}
	u.Becomes = u.ID
	if there, err = folder.Resumable(u.Owner, u.ID); !errors.Is(err, drop.ErrNotFound) {
		return there, err
	}
	_, missing := Show(ctx, r.App, u.ID, u.Deposit.Submitter)
	if fault, ok := errors.AsType[*app.Error](missing); ok && fault.Kind == app.NotFound {
		return there, err
	}
	if missing == nil {
		missing = &app.Error{Kind: app.Refused, Err: fmt.Errorf("the upload under this key has become the deposit %s", u.ID), Hint: "GET /v1/uploads/" + u.ID + " shows it; another file needs a key of its own"}
	}
	return there, missing
}

// Resume returns an upload of the owner, of which all that has come is on disk. The upload
// must be locked.
func Resume(a *app.App, owner, id string) (u Resumable, err error) {
	defer app.Explained(&err, "upload")
	folder, err := a.Open.Drop(true)
	if err != nil {
		return u, err
	}
	u, err = folder.Resumable(owner, id)
	if errors.Is(err, drop.ErrNotFound) {
		return u, noUpload(id)
	}
	if err != nil {
		return u, err
	}
	return u, folder.Settle(u)
}

// noUpload returns the error about an upload that is not there for the caller.
func noUpload(id string) error {
	return &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no upload %s", id), Hint: "it is over, or was cancelled: begin another one"}
}

// CheckUpload returns the error about an upload of which the name can be none.
func CheckUpload(id string) error {
	if drop.IsID(id) {
		return nil
	}
	return &app.Error{Kind: app.NotFound, What: "upload", Err: errors.New("there is no such upload"), Hint: "Location of the answer to POST names it"}
}

// ErrLocked is the error of [LockResumable] while another request writes to the upload.
var ErrLocked = drop.ErrLocked

// LockResumable keeps others from writing to an upload, in all processes.
func LockResumable(a *app.App, owner, id string) (release func(), err error) {
	folder, err := a.Open.Drop(true)
	if err == nil {
		release, err = folder.LockResumable(owner, id)
	}
	if errors.Is(err, drop.ErrNotFound) {
		err = noUpload(id)
	}
	if !errors.Is(err, ErrLocked) {
		app.Explained(&err, "upload")
	}
	return release, err
}

// Append adds a piece to the file of an upload that is locked, and returns how many bytes of
// it are on disk: also with an error.
func Append(a *app.App, u Resumable, piece io.Reader) (n int64, err error) {
	defer app.Explained(&err, "upload")
	folder, err := a.Open.Drop(true)
	if err != nil {
		return 0, err
	}
	return folder.Append(u, piece)
}

// Finish makes the deposit of an upload that is locked and whole, once. A file with another
// digest than its owner has is removed, as it cannot be repaired.
func Finish(a *app.App, u Resumable) (_ Resumable, err error) {
	defer app.Explained(&err, "upload")
	folder, err := a.Open.Drop(true)
	if err != nil {
		return u, err
	}
	var wrong error
	got, err := folder.Finish(u, time.Now(), func(sum string) error {
		if u.SHA256 != "" && sum != u.SHA256 {
			wrong = &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the file that arrived has the SHA-256 %s, not %s", sum, u.SHA256), Hint: "send it again, as a new upload"}
		}
		return wrong
	})
	if wrong != nil {
		if err := folder.Cancel(u); err != nil {
			return u, err
		}
	}
	return got, err
}

// Cancel removes an upload that is locked; the deposit stays that it has become.
func Cancel(a *app.App, u Resumable) (err error) {
	defer app.Explained(&err, "cancel the upload")
	folder, err := a.Open.Drop(true)
	if err != nil {
		return err
	}
	return folder.Cancel(u)
}
