package tus

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/ratelimit"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// store is the drop folder as tusd sees it.
type store struct{}

// NewUpload implements handler.DataStore.
func (*store) NewUpload(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	x := exchangeOf(ctx)
	u, again, on, limit, err := operation.BeginResumable(ctx, x.call, x.header.Get("Upload-Metadata"), x.header.Get("Repr-Digest"), x.header.Get("Idempotency-Key"), info.Size)
	if err := x.ended(begins, on, err); err != nil {
		return nil, err
	}
	ratelimit.Set(x.answer, limit)
	x.about(u)
	return &upload{x, u, again}, nil
}

// GetUpload implements handler.DataStore. An upload that is whole and not finished, since its
// process was killed, is finished.
func (*store) GetUpload(ctx context.Context, id string) (handler.Upload, error) {
	x := exchangeOf(ctx)
	u, err := drops.Resume(x.call.App, x.call.Caller.Name, id)
	if err != nil {
		return nil, x.ended(x.route, "upload/"+id, err)
	}
	up := &upload{x, u, false}
	if u.Offset == u.Size && !u.Finished && x.route != cancels {
		if err := up.FinishUpload(ctx); err != nil {
			return nil, err
		}
	}
	x.about(up.u)
	return up, nil
}

// AsTerminatableUpload implements handler.TerminaterDataStore.
func (*store) AsTerminatableUpload(u handler.Upload) handler.TerminatableUpload { return u.(*upload) }

// upload is one upload as tusd sees it.
type upload struct {
	x     *exchange
	u     drops.Resumable
	again bool // it was begun before, by a request with the same key
}

func (u *upload) on() string { return "upload/" + u.u.ID }

// GetInfo implements handler.Upload.
func (u *upload) GetInfo(context.Context) (handler.FileInfo, error) {
	info := handler.FileInfo{ID: u.u.ID, Size: u.u.Size, Offset: u.u.Offset, MetaData: u.u.Metadata}
	if u.again { // WriteChunk says how much has come
		info.Offset = 0
	}
	return info, nil
}

// fresh looks again at an upload that this request begins, once it is locked: another request
// under its key may have sent bytes, or finished it.
func (u *upload) fresh() (err error) {
	if u.x.route != begins {
		return nil
	}
	on := u.on()
	if u.u, err = drops.Resume(u.x.call.App, u.x.call.Caller.Name, u.u.ID); err != nil {
		err = u.x.ended(u.x.route, on, err)
	}
	return err
}

// WriteChunk implements handler.Upload. What it has written when it returns is on disk.
// Of an upload that was begun before, the first bytes that come with the request once more are
// left out: the client goes on behind what has come.
func (u *upload) WriteChunk(_ context.Context, _ int64, piece io.Reader) (int64, error) {
	if err := u.fresh(); err != nil {
		return 0, err
	}
	if u.again || u.x.route == begins && u.u.Offset > 0 {
		return u.u.Offset, nil
	}
	if err := operation.MayResume(u.x.call, u.u); err != nil {
		return 0, u.x.ended(u.x.route, u.on(), err)
	}
	rest := u.u.Size - u.u.Offset
	n, err := drops.Append(u.x.call.App, u.u, piece)
	u.u.Offset, u.u.Changed = u.u.Offset+n, time.Now()
	if err == nil && u.x.read > rest { // the file is none that was announced
		err = cmp.Or(drops.Cancel(u.x.call.App, u.u), tooMuch)
	}
	if err != nil {
		return n, u.x.ended(u.x.route, u.on(), err)
	}
	u.x.about(u.u)
	return n, nil
}

var tooMuch error = &app.Error{Kind: app.Invalid, What: "upload", Err: errors.New("more bytes came than Upload-Length says: the upload is cancelled"), Hint: "begin another one"}

// FinishUpload implements handler.Upload.
func (u *upload) FinishUpload(ctx context.Context) error {
	if u.x.err != nil { // tusd asks for it also after an error
		return u.x.err
	}
	if !u.x.locked { // tusd finishes an empty upload as soon as it is begun
		l := &lock{of: u.x.server.locks, id: u.u.ID}
		ctx, cancel := context.WithTimeout(ctx, lockTime)
		defer cancel()
		if err := l.Lock(ctx, func() {}); err != nil {
			return err
		}
		defer l.Unlock() //nolint:errcheck // it returns none
	}
	if err := u.fresh(); err != nil {
		return err
	}
	if u.u.Finished {
		u.x.about(u.u)
		return nil
	}
	err := operation.MayResume(u.x.call, u.u)
	if err == nil {
		u.u, err = drops.Finish(u.x.call.App, u.u)
	}
	if err := u.x.ended(finishes, u.on(), err); err != nil {
		return err
	}
	u.x.about(u.u)
	return nil
}

// Terminate implements handler.TerminatableUpload.
func (u *upload) Terminate(context.Context) error {
	return u.x.ended(cancels, u.on(), drops.Cancel(u.x.call.App, u.u))
}

// GetReader implements handler.Upload: uploads are not read again by tus.
func (*upload) GetReader(context.Context) (io.ReadCloser, error) {
	return nil, handler.ErrNotImplemented
}

// locker lets one request at a time write to an upload, in all processes; one that waits asks
// the one before, if it is in this process, to leave: its client is mostly gone.
type locker struct {
	mu   sync.Mutex
	held map[string]func() // asks the request that holds the upload to leave
}

// NewLock implements handler.Locker.
func (l *locker) NewLock(id string) (handler.Lock, error) { return &lock{of: l, id: id}, nil }

// lock is that of one request.
type lock struct {
	of      *locker
	id      string
	release func()
}

// between is the time between two tries to lock.
const between = 20 * time.Millisecond

// Lock implements handler.Lock.
func (l *lock) Lock(ctx context.Context, leave func()) error {
	x := exchangeOf(ctx)
	for {
		release, err := drops.LockResumable(x.call.App, x.call.Caller.Name, l.id)
		if err == nil {
			l.release, x.locked = release, true
			l.of.mu.Lock()
			l.of.held[l.id] = leave
			l.of.mu.Unlock()
			return nil
		}
		if !errors.Is(err, drops.ErrLocked) {
			return x.ended(x.route, "upload/"+l.id, err)
		}
		l.of.mu.Lock()
		other := l.of.held[l.id]
		l.of.mu.Unlock()
		if other != nil {
			other()
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return handler.ErrFileLocked
		}
	}
}

// Unlock implements handler.Lock.
func (l *lock) Unlock() error {
	l.of.mu.Lock()
	delete(l.of.held, l.id)
	l.of.mu.Unlock()
	l.release()
	return nil
}
