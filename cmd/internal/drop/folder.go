// Package drop is the drop folder, in which files are accepted before they become batches.
// It needs no server, so that deposits are taken while all of them are away.
//
//	.accession-installation   whose folder it is
//	transfer.lock             held by the process that transfers
//	aside/RANDOM              what is being written or removed
//	resumable/USER/ID         a file that comes in pieces, see [Resumable]
//	USER/ID/deposit.json      a deposit that was accepted, see [Deposit]
//	USER/ID/payload/NAME      its file
//	USER/ID/refused.json      why no batch can be made of it, see [Refusal]
//	USER/ID/retried.json      who has it tried again, see [Act]
//	removed/ID.json           what an operator has removed, without its file, see [Removed];
//	                          for a time, see [Folder.RemoveOld]
//
// A deposit is there as soon as its directory has its name, and gone as soon as it has not.
package drop

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

const (
	aside      = "aside"
	lockName   = "transfer.lock"
	depositIn  = "deposit.json"
	payloadIn  = "payload"
	refusedIn  = "refused.json"
	retriedIn  = "retried.json"
	removedIn  = "removed"
	staleAfter = 24 * time.Hour
)

// Errors of this package.
var (
	ErrNotFound = errors.New("it is not in the drop folder") // not, or no more
	ErrLocked   = errors.New("it is being transferred or changed at this moment")
)

// Deposit is a file that was accepted, and what its depositor said of it.
type Deposit struct {
	ID        string                `json:"id"` // in the order of reception
	Received  time.Time             `json:"received"`
	Submitter string                `json:"submitter"`
	User      string                `json:"user,omitempty"` // account that made the deposit
	Profile   string                `json:"profile"`
	Type      domain.SubmissionType `json:"type,omitempty"`
	Mode      string                `json:"mode,omitempty"`
	Digest    string                `json:"digest,omitempty"` // as the depositor gave it
	Primary   string                `json:"identifier,omitempty"`
	LocalIDs  []string              `json:"local_ids,omitempty"`
	Title     string                `json:"title,omitempty"`
	Creator   string                `json:"creator,omitempty"`
	Date      string                `json:"date,omitempty"`
	Key       string                `json:"idempotency_key,omitempty"`
	FileName  string                `json:"file_name"`
	Size      int64                 `json:"size"` // bytes
	SHA256    string                `json:"sha256"`
	// Refused says why no batch can be made of it, nil = it waits.
	Refused *Refusal `json:"refused,omitempty"`
	// Retried is the last time that an operator had it tried again.
	Retried *Act `json:"retried,omitempty"`
}

// Act is what an operator does with a deposit.
type Act struct {
	At     time.Time    `json:"at"`
	By     domain.Actor `json:"by"`
	Reason string       `json:"reason,omitempty"`
	// Command is the id of the command, "" = it has none.
	Command string `json:"command,omitempty"`
	// Version is that of the deposit after it, 0 = of an older program.
	Version int64 `json:"version,omitempty"`
}

// Removed is a deposit that an operator has removed.
type Removed struct {
	Deposit Deposit `json:"deposit"`
	Act
}

// Refusal says why no batch can be made of a deposit.
type Refusal struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Hint   string    `json:"hint,omitempty"`
	// Version is that of the deposit after it, 0 = of an older program.
	Version int64 `json:"version,omitempty"`
}

// Version returns the version of a deposit in the folder: 1 at first, and a higher one after
// each refusal and each retry.
func (d *Deposit) Version() int64 {
	version := int64(1)
	if d.Retried != nil {
		version = cmp.Or(d.Retried.Version, 3) // it had been refused
	}
	if d.Refused != nil {
		version = max(version, cmp.Or(d.Refused.Version, version+1))
	}
	return version
}

// Folder is the drop folder of an installation. Any number of processes use it at once. A
// nil folder is empty.
type Folder struct {
	mark *store.Work // whose it is
	root root
	path string
}

// Open opens the drop folder, which it makes and marks when it is new.
func Open(dir, installation string) (*Folder, error) {
	mark, err := store.OpenWork(dir, installation)
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, mark.Close())
	}
	return &Folder{mark, root{r}, dir}, nil
}

// Close frees the folder's handles.
func (f *Folder) Close() error { return errors.Join(f.root.Close(), f.mark.Close()) }

// Check returns an error unless the folder is still there and that of the installation.
func (f *Folder) Check() error { return f.mark.Check() }

// Path returns where the file of a deposit is.
func (f *Folder) Path(d Deposit) string {
	return filepath.Join(f.path, d.dir(), payloadIn, d.FileName)
}

// userDir returns the name of the directory of a user's deposits.
func userDir(user string) string {
	name := text.EncodeUser(user)
	if len(name) > 200 { // a file system takes 255
		sum := sha256.Sum256([]byte(user))
		name = "sha256-" + hex.EncodeToString(sum[:])
	}
	return "user-" + name
}

// dir returns the directory of the deposit, relative to the folder.
func (d Deposit) dir() string { return userDir(d.Submitter) + "/" + d.ID }

// Accept writes a deposit with its file. When it returns without an error the deposit is on
// disk, and has its ID, time of reception, size and digest; else nothing is left of it, or,
// when the process was killed, only what [Folder.RemoveLeft] removes. A deposit that has its
// ID already is one that [NewID] has named; the error is fs.ErrExist if it is there.
func (f *Folder) Accept(ctx context.Context, d Deposit, file io.Reader, now time.Time) (Deposit, error) {
	return f.AcceptLate(ctx, d, file, now, func(*Deposit) error { return nil })
}

// AcceptLate is Accept of a deposit of which only the name of the file need be known before
// the file is read: completed is called after its end, and may set all that Accept does not.
// Its error is returned.
func (f *Folder) AcceptLate(ctx context.Context, d Deposit, file io.Reader, now time.Time, completed func(*Deposit) error) (_ Deposit, err error) {
	if d.ID == "" {
		if d.ID, err = NewID(); err != nil {
			return d, err
		}
	}
	d.Received, d.Refused = now.UTC(), nil
	at := aside + "/" + rand.Text()
	if err = f.write(ctx, at, &d, file, completed); err == nil {
		err = f.put(at, d)
	}
	if err != nil {
		return d, errors.Join(fmt.Errorf("accept %s into the drop folder: %w", d.FileName, err), f.root.removeAll("accept/undo", at))
	}
	return d, nil
}

// Spool keeps a file that is no deposit under its name until done is called; if the process
// was killed before, [Folder.RemoveLeft] removes it.
func (f *Folder) Spool(ctx context.Context, name string, file io.Reader) (at string, done func() error, err error) {
	dir := aside + "/" + rand.Text()
	done = func() error { return f.root.removeAll("spool/remove", dir) }
	if err = f.root.mkdirAll("spool/make", dir); err == nil {
		_, err = f.root.write("spool/write", dir+"/"+name, reading{ctx, file})
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("keep %s in the drop folder: %w", name, err), done())
	}
	return filepath.Join(f.path, dir, name), done, nil
}

// NewID returns the id of a deposit that is received now.
func NewID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// write writes a deposit and its file to the disk.
func (f *Folder) write(ctx context.Context, at string, d *Deposit, file io.Reader, completed func(*Deposit) error) error {
	if err := f.root.mkdirAll("accept/make", at+"/"+payloadIn); err != nil {
		return err
	}
	sum := sha256.New()
	size, err := f.root.write("accept/payload", at+"/"+payloadIn+"/"+d.FileName, io.TeeReader(reading{ctx, file}, sum))
	if err != nil {
		return err
	}
	d.Size, d.SHA256 = size, hex.EncodeToString(sum.Sum(nil))
	if err := completed(d); err != nil {
		return err
	}
	data, err := json.Marshal(d)
	if err == nil {
		_, err = f.root.write("accept/deposit", at+"/"+depositIn, strings.NewReader(string(data)))
	}
	return errors.Join(err, f.root.sync(at+"/"+payloadIn), f.root.sync(at))
}

// reading ends a read when its context ends.
type reading struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// put moves a deposit that is written to its directory.
func (f *Folder) put(at string, d Deposit) error {
	user := path.Dir(d.dir())
	return f.below(user, func() error { return f.root.mkdirAll("accept/user", user) },
		func() error { return f.root.rename("accept/rename", at, d.dir()) })
}

// below makes the directory of a user, moves something that is written into it, and puts
// both on disk. That of the user may be removed at the same time, since it was empty.
func (f *Folder) below(user string, makes, moves func() error) (err error) {
	for range 100 {
		err = makes()
		if errors.Is(err, fs.ErrExist) { // it was there, and was removed before it was looked at
			continue
		}
		if err != nil {
			return err
		}
		if err = moves(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(f.root.sync(user), f.root.sync(path.Dir(user)))
}

// Remove takes a deposit away; ErrNotFound if it is not there.
func (f *Folder) Remove(d Deposit) error {
	to := aside + "/" + rand.Text()
	err := f.root.mkdirAll("remove/make", aside)
	if err == nil {
		err = f.root.rename("remove/rename", d.dir(), to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", d.ID, ErrNotFound)
	}
	user := path.Dir(d.dir())
	if err == nil {
		err = errors.Join(f.root.sync(user), f.root.removeAll("remove/payload", to))
	}
	if gone := f.root.remove("remove/user", user); gone != nil && !errors.Is(gone, syscall.ENOTEMPTY) && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// Discard removes a deposit, of which it keeps who removed it, and why. The record comes
// first: that of a deposit that is still there, or became a batch, says nothing.
func (f *Folder) Discard(d Deposit, by Act) error {
	var tmp string
	err := f.root.mkdirAll("discard/make", removedIn)
	if err == nil {
		err = f.root.mkdirAll("discard/make-aside", aside)
	}
	if err == nil {
		tmp, err = f.note("discard", aside, Removed{d, by})
	}
	if err == nil {
		err = f.root.rename("discard/rename", tmp, removedIn+"/"+d.ID+".json")
	}
	if err == nil {
		err = errors.Join(f.root.sync(removedIn), f.root.sync("."))
	}
	if err != nil {
		return err
	}
	return f.Remove(d)
}

// Removed returns the record of a deposit that an operator has removed; ErrNotFound if
// there is none.
func (f *Folder) Removed(id string) (r Removed, err error) {
	if _, err := uuid.Parse(id); err != nil || f == nil {
		return r, ErrNotFound
	}
	data, err := f.root.ReadFile(removedIn + "/" + id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return r, ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		err = fmt.Errorf("%s/%s/%s.json: %w", f.path, removedIn, id, err)
	}
	return r, err
}

// note writes a new file in a directory, to be renamed, and returns its path.
func (f *Folder) note(operation, dir string, v any) (tmp string, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	tmp = dir + "/" + rand.Text() + ".tmp"
	_, err = f.root.write(operation+"/write", tmp, strings.NewReader(string(data)))
	return tmp, err
}

// Refuse notes why no batch can be made of a deposit: it stays, and is tried again only
// after [Folder.Again].
func (f *Folder) Refuse(d Deposit, r Refusal) error {
	r.Version = d.Version() + 1
	tmp, err := f.note("refuse", d.dir(), r)
	if err == nil {
		err = f.root.rename("refuse/rename", tmp, d.dir()+"/"+refusedIn)
	}
	return errors.Join(err, f.root.sync(d.dir()))
}

// Again lets a refused deposit be tried again, and notes who does, and why.
func (f *Folder) Again(d Deposit, by Act) error {
	by.Version = d.Version() + 1
	tmp, err := f.note("again", d.dir(), by)
	if err == nil {
		err = f.root.rename("again/rename", tmp, d.dir()+"/"+retriedIn)
	}
	if err != nil {
		return err
	}
	err = f.root.remove("again/remove", d.dir()+"/"+refusedIn)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, f.root.sync(d.dir()))
}

// RemoveLeft removes what was being written or removed by processes that were killed over a day
// before now, and resumable uploads that are over, see [Resumable.Expires].
func (f *Folder) RemoveLeft(now time.Time) error {
	entries, err := f.root.list(aside)
	err = errors.Join(err, f.removeExpired(now))
	for _, name := range entries {
		at := aside + "/" + name
		if newest, lookErr := f.newest(at); lookErr == nil && now.Sub(newest) > staleAfter {
			err = errors.Join(err, f.root.removeAll("left/remove", at))
		}
	}
	return err
}

// RemoveOld removes the records of deposits that operators have removed before a moment.
func (f *Folder) RemoveOld(before time.Time) error {
	all, err := f.AllRemoved()
	for _, r := range all {
		if r.At.Before(before) {
			gone := f.root.remove("old/remove", removedIn+"/"+r.Deposit.ID+".json")
			if !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}
	return err
}

// newest returns when something below a path was last written to.
func (f *Folder) newest(at string) (newest time.Time, err error) {
	err = fs.WalkDir(f.root.FS(), at, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return err
	})
	return newest, err
}

// Lead makes this the one process that transfers, until release; false = another one is.
func (f *Folder) Lead() (release func(), leads bool, err error) {
	file, err := f.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, privateFile)
	if err == nil {
		release, err = lock(file)
	}
	if errors.Is(err, ErrLocked) {
		return nil, false, nil
	}
	return release, err == nil, err
}

// Lock keeps others from transferring or changing a deposit, until release. The error is
// ErrLocked while another one does, and ErrNotFound once the deposit has left.
func (f *Folder) Lock(d Deposit) (release func(), err error) {
	return f.lock(d.ID, d.dir()+"/"+depositIn)
}

// lock locks the file of a deposit or upload.
func (f *Folder) lock(id, at string) (release func(), err error) {
	file, err := f.root.OpenFile(at, os.O_RDWR, 0) // over NFS only what is open for writing can be locked
	if err == nil {
		release, err = lock(file)
	}
	if err == nil { // else it left between the two
		var mine, there fs.FileInfo
		if mine, err = file.Stat(); err == nil {
			there, err = f.root.Stat(at)
		}
		if err != nil || !os.SameFile(there, mine) {
			release()
			err = cmp.Or(err, fs.ErrNotExist)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	return release, nil
}

// lock locks a file, which it closes if it cannot, until release; ErrLocked if it is locked.
func lock(file *os.File) (release func(), err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() {
			// Closing alone leaves it locked while a child that is just being started has a copy.
			_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
			_ = file.Close()
		}, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, errors.Join(err, file.Close())
}
