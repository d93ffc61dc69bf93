package drops

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/intake"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/manifest"
)

// Receiver takes files from elsewhere into the drop folder.
type Receiver struct {
	App *app.App
	// Most is the size in bytes of the largest file that is taken, Waiting how many
	// deposits of a user may wait.
	Most    int64
	Waiting int

	limit access.Limit
}

// retryWaiting is when a user with too many waiting deposits may try again.
const retryWaiting = time.Minute

// Limit returns how many more deposits or queries the user may make who was asked about last,
// when the one is made for which there was room.
func (r *Receiver) Limit() access.Limit { return r.limit }

// Room refuses, with an error of kind Full, a further deposit of a user of whom too many
// wait, in the drop folder and the deposit queue together. While the intake is closed it refuses
// every one, with an error of kind IntakeClosed. One that was requested before under its
// idempotency key has its room; "" = it has no key.
func (r *Receiver) Room(ctx context.Context, user, key string) (err error) {
	defer app.Explained(&err, "deposit")
	if key != "" {
		records, err := r.App.Open.Records(ctx)
		if err != nil {
			return err
		}
		if _, known, err := records.Command(ctx, user, key); known || err != nil {
			return err
		}
	}
	folder, err := r.App.Open.Drop(false)
	if err != nil {
		return err
	}
	n, err := came(folder, user, user)
	if err != nil {
		return err
	}
	return r.room(ctx, fair.QueueMetadata, user, n, "deposits")
}

// came counts the deposits of a user in the drop folder, and the files of an account that are
// still coming in pieces.
func came(folder *drop.Folder, user, owner string) (int, error) {
	n, err := folder.CountOf(user)
	if err != nil {
		return 0, err
	}
	coming, err := folder.CountResumable(owner)
	return n + coming, err
}

// RoomForQuery refuses, with an error of kind Full, a further query of a user of whom too
// many wait. One that was requested before under its idempotency key has its room; "" = it has
// no key.
func (r *Receiver) RoomForQuery(ctx context.Context, user, key string) (err error) {
	defer app.Explained(&err, "submit a query")
	if key != "" {
		records, err := r.App.Open.Records(ctx)
		if err != nil {
			return err
		}
		if _, known, err := records.QueryCommand(ctx, user, key); known || err != nil {
			return err
		}
	}
	return r.room(ctx, fair.QueueQuery, user, 0, "queries")
}

// room refuses one more of a user's deposits or queries, of which n wait outside the queue, and
// each while the intake is closed.
func (r *Receiver) room(ctx context.Context, queue, user string, n int, of string) error {
	if err := intake.Admit(ctx, r.App.Open.DepositQueues, queue, user, false); err != nil {
		return err
	}
	handler, err := r.App.Open.Handler(ctx)
	if err != nil {
		return err
	}
	if handler.Rings != nil && n < r.Waiting {
		waiting, err := handler.Rings.Waiting(ctx, queue, user)
		if err != nil {
			return err
		}
		n += len(waiting)
	}
	r.limit = access.Limit{Name: "waiting-" + of, Quota: r.Waiting, Left: max(0, r.Waiting-n-1)}
	if n < r.Waiting {
		return nil
	}
	r.limit.Reset = retryWaiting
	return &app.Error{Kind: app.Full, Err: &access.Exceeded{Limit: r.limit, Err: fmt.Errorf("%d of your %s wait, and at most %d may", n, of, r.Waiting)}, RetryAfter: retryWaiting,
		Hint: "wait until some of them are done"}
}

// Check refuses a deposit, whose file is named d.Payload, before that is read: as
// [app.App.Check] does, but for what the file itself says.
func (r *Receiver) Check(d app.Deposit) error {
	if err := CheckName(d.Payload); err != nil {
		return err
	}
	d.Payload, d.Type = "https://upload.invalid/"+url.PathEscape(d.Payload), cmp.Or(d.Type, domain.TypeFile)
	return r.App.Check(d)
}

// CheckName returns an error of kind Invalid unless a name can be that of a file which is
// uploaded.
func CheckName(name string) error {
	err := manifest.CheckName(name)
	if err == nil && path.Base(name) == name {
		return nil
	}
	return &app.Error{Kind: app.Invalid, What: "upload", Err: fmt.Errorf("%q is no name of a file: %w", name, cmp.Or(err, errNoName)), Hint: "give the name alone, without directories"}
}

var errNoName = errors.New("it names a directory")

// Accept takes a file into the drop folder, under d.Payload as its name. sum is its SHA-256
// in hex as the depositor has it, "" = it is not said. When it returns without an error the
// deposit is on disk. Under the same idempotency key a file is accepted once.
func (r *Receiver) Accept(ctx context.Context, d app.Deposit, file io.Reader, sum string) (s Shown, err error) {
	defer app.Explained(&err, "upload")
	kept := described(r.App, d)
	if d.Key != "" {
		if kept.ID, err = r.keep(ctx, kept, saidOf(kept)); err != nil {
			return s, err
		}
		if s, err = Show(ctx, r.App, kept.ID, d.Submitter); err == nil {
			return s, nil
		}
		if known, ok := errors.AsType[*app.Error](err); !ok || known.Kind != app.NotFound {
			return s, err
		}
	}
	folder, err := r.App.Open.Drop(true)
	if err != nil {
		return s, err
	}
	got, err := folder.Accept(ctx, kept, Checked(file, r.Most, sum), time.Now())
	if errors.Is(err, fs.ErrExist) && kept.ID != "" {
		return Show(ctx, r.App, kept.ID, d.Submitter) // another request under the key was faster
	}
	return stateOf(got), err
}

// Accepted returns what became of the file that was accepted before under the key of a deposit,
// and reports whether there is one: it needs no room, and nothing of it is read again.
func (r *Receiver) Accepted(ctx context.Context, d app.Deposit) (s Shown, found bool, err error) {
	defer app.Explained(&err, "upload")
	if d.Key == "" {
		return s, false, nil
	}
	kept := described(r.App, d)
	records, want, err := r.requested(ctx, kept, saidOf(kept))
	if err != nil {
		return s, false, err
	}
	got, found, err := records.Upload(ctx, d.Submitter, d.Key)
	if err == nil && found {
		err = same(want, got)
	}
	if err != nil || !found {
		return s, false, err
	}
	s, err = Show(ctx, r.App, got.Deposit, d.Submitter)
	if known, ok := errors.AsType[*app.Error](err); ok && known.Kind == app.NotFound {
		return s, false, nil
	}
	return s, err == nil, err
}

// saidOf returns what must be the same when the key of an upload is.
func saidOf(d drop.Deposit) drop.Deposit {
	d.User = "" // another account may repeat it for the submitter
	return d
}

// keep returns the id that the deposit under its key has; said is what must be the same when
// the key is.
func (r *Receiver) keep(ctx context.Context, d drop.Deposit, said any) (string, error) {
	records, want, err := r.requested(ctx, d, said)
	if err == nil {
		want.Deposit, err = drop.NewID()
	}
	if err != nil {
		return "", err
	}
	got, err := records.KeepUpload(ctx, want)
	if err == nil {
		err = same(want, got)
	}
	return got.Deposit, err
}

// requested returns what is kept of an upload under its key, but for the id, and where.
func (r *Receiver) requested(ctx context.Context, d drop.Deposit, said any) (*record.Records, record.Upload, error) {
	records, err := r.App.Open.Records(ctx)
	if err != nil {
		return nil, record.Upload{}, err
	}
	text, err := json.Marshal(said)
	digest := sha256.Sum256(text)
	return records, record.Upload{Submitter: d.Submitter, Key: d.Key, InputSHA256: hex.EncodeToString(digest[:])}, err
}

// same refuses an upload under the key of another one.
func same(want, got record.Upload) error {
	if got.InputSHA256 == want.InputSHA256 {
		return nil
	}
	return &app.Error{Kind: app.KeyReused, Err: fmt.Errorf("the key %q was used for another upload, %s", want.Key, got.Deposit),
		Hint: "nothing was taken: repeat the upload as it was, or give this one a key of its own"}
}

// AcceptLate takes a file of a name into the drop folder, of which the rest is known only
// once it was read: rest returns that, or why the deposit is refused; it may keep the deposit
// under names, see [KeepNames], since it gets its id. When AcceptLate returns without
// an error the deposit is on disk.
func (r *Receiver) AcceptLate(ctx context.Context, name string, file io.Reader, rest func(id string) (d app.Deposit, sum string, err error)) (s Shown, err error) {
	defer app.Explained(&err, "upload")
	folder, err := r.App.Open.Drop(true)
	if err != nil {
		return s, err
	}
	c := &checked{file: file, left: r.Most, sum: sha256.New()}
	got, err := folder.AcceptLate(ctx, drop.Deposit{FileName: manifest.NormalName(name)}, c, time.Now(), func(d *drop.Deposit) error {
		said, sum, err := rest(d.ID)
		if err == nil {
			c.want = sum
			err = c.compare()
		}
		if err != nil {
			return err
		}
		of := described(r.App, said)
		of.ID, of.Received, of.FileName, of.Size, of.SHA256 = d.ID, d.Received, d.FileName, d.Size, d.SHA256
		*d = of
		return nil
	})
	return stateOf(got), err
}

// Spool keeps a file, of at most r.Most bytes, until done is called. sum is as for
// [Receiver.Accept].
func (r *Receiver) Spool(ctx context.Context, name string, file io.Reader, sum string) (at string, done func() error, err error) {
	defer app.Explained(&err, "upload")
	folder, err := r.App.Open.Drop(true)
	if err != nil {
		return "", nil, err
	}
	return folder.Spool(ctx, manifest.NormalName(name), Checked(file, r.Most, sum))
}

// Checked returns a file, whose reading ends with an error if it has more bytes than most, or
// another SHA-256 than sum in hex; "" = that is not said.
func Checked(file io.Reader, most int64, sum string) io.Reader {
	return &checked{file: file, left: most, want: sum, sum: sha256.New()}
}

// checked is a file that is refused when it is too large, or other than its digest says.
type checked struct {
	file io.Reader
	left int64 // bytes that may still come
	want string
	sum  interface {
		io.Writer
		Sum(b []byte) []byte
	}
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, &app.Error{Kind: app.Invalid, Err: errors.New("the file is larger than this installation takes"), Hint: "the setting upload_limit bounds it; a URL has no such limit"}
	}
	_, _ = c.sum.Write(p[:n]) // a hash takes everything
	if errors.Is(err, io.EOF) {
		if wrong := c.compare(); wrong != nil {
			return 0, wrong
		}
	}
	return n, err
}

// compare refuses a file that has arrived with another digest.
func (c *checked) compare() error {
	if got := hex.EncodeToString(c.sum.Sum(nil)); c.want != "" && got != c.want {
		return &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the file that arrived has the SHA-256 %s, not %s", got, c.want), Hint: "send it again"}
	}
	return nil
}
