package drop

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	resumable = "resumable"
	uploadIn  = "upload.json" // what is known of it
	lockIn    = "lock"        // held by the process that writes to it
	summedIn  = "summed.json" // see [summed]
	partsIn   = "deposit"     // what becomes the deposit's directory
)

// Resumable is an upload whose file comes in pieces, and goes on where it was cut off. It is
// finished as soon as its deposit has its directory, by one rename; what is known of it stays,
// so that a client which got no answer learns that.
//
//	resumable/USER/ID/upload.json           it
//	resumable/USER/ID/lock
//	resumable/USER/ID/summed.json           the digest of its beginning
//	resumable/USER/ID/deposit/payload/NAME  what has come of its file
type Resumable struct {
	ID       string            `json:"id"`
	Owner    string            `json:"owner"`            // account that sends it; others do not see it
	Size     int64             `json:"size"`             // bytes, once all have come
	SHA256   string            `json:"sha256,omitempty"` // of the file as its owner has it
	Metadata map[string]string `json:"metadata,omitempty"`
	// Deposit is what becomes of it. It has its ID once all of its file has come.
	Deposit Deposit `json:"deposit"`
	// Becomes is the ID that the deposit will have, "" = a new one.
	Becomes string `json:"becomes,omitempty"`

	Offset   int64     `json:"-"` // bytes that have come, and are on disk
	Changed  time.Time `json:"-"` // when the last of them came
	Finished bool      `json:"-"` // it is a deposit
}

// Expires is when the upload is given up, unless more of it comes before.
func (r Resumable) Expires() time.Time { return r.Changed.Add(staleAfter) }

// dir returns the directory of the upload, relative to the folder.
func (r Resumable) dir() string { return resumable + "/" + userDir(r.Owner) + "/" + r.ID }

func (r Resumable) file() string {
	return r.dir() + "/" + partsIn + "/" + payloadIn + "/" + r.Deposit.FileName
}

// Begin keeps a new upload, without any bytes of its file, and returns it with its ID, which
// is new unless r has one. The error is fs.ErrExist if there is an upload of that ID.
func (f *Folder) Begin(r Resumable) (_ Resumable, err error) {
	if r.ID == "" {
		r.ID, err = NewID()
	}
	if err != nil {
		return r, err
	}
	at := aside + "/" + rand.Text()
	if err = f.begin(at, r); err != nil {
		return r, errors.Join(fmt.Errorf("begin the upload of %s: %w", r.Deposit.FileName, err), f.root.removeAll("resume/undo", at))
	}
	return f.Resumable(r.Owner, r.ID)
}

func (f *Folder) begin(at string, r Resumable) error {
	files := at + "/" + partsIn + "/" + payloadIn
	data, err := json.Marshal(r)
	if err == nil {
		err = f.root.mkdirAll("resume/make", files)
	}
	if err == nil {
		_, err = f.root.write("resume/payload", files+"/"+r.Deposit.FileName, strings.NewReader(""))
	}
	if err == nil {
		_, err = f.root.write("resume/lock", at+"/"+lockIn, strings.NewReader(""))
	}
	if err == nil {
		_, err = f.root.write("resume/upload", at+"/"+uploadIn, strings.NewReader(string(data)))
	}
	if err == nil {
		err = errors.Join(f.root.sync(files), f.root.sync(path.Dir(files)), f.root.sync(at))
	}
	if err != nil {
		return err
	}
	user := path.Dir(r.dir())
	err = f.below(user, func() error { return f.root.mkdirAll("resume/user", user) },
		func() error { return f.root.rename("resume/begin", at, r.dir()) })
	return errors.Join(err, f.root.sync("."))
}

// Resumable returns an upload of a user, ErrNotFound if there is none.
func (f *Folder) Resumable(owner, id string) (r Resumable, err error) {
	if !IsID(id) || f == nil {
		return r, ErrNotFound
	}
	r, err = f.resumable(owner, id)
	if errors.Is(err, fs.ErrNotExist) { // it was finished or cancelled between the two looks
		r, err = f.resumable(owner, id)
	}
	return r, err
}

func (f *Folder) resumable(owner, id string) (r Resumable, err error) {
	at := Resumable{Owner: owner, ID: id}.dir()
	data, err := f.root.ReadFile(at + "/" + uploadIn)
	if errors.Is(err, fs.ErrNotExist) {
		return r, ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && (r.dir() != at || r.Owner != owner) {
		err = fmt.Errorf("it is the upload %s of %s", r.ID, r.Owner)
	}
	if err == nil {
		err = f.look(&r)
	}
	if err != nil {
		return r, fmt.Errorf("%s/%s: %w", f.path, at, err)
	}
	return r, nil
}

// look finds out how much of an upload has come.
func (f *Folder) look(r *Resumable) error {
	info, err := f.root.Stat(r.file())
	if errors.Is(err, fs.ErrNotExist) && r.Deposit.ID != "" {
		r.Offset, r.Finished = r.Size, true
		return nil
	}
	if err == nil {
		r.Offset, r.Changed = info.Size(), info.ModTime()
	}
	return err
}

// IsID says whether a text is an id as [NewID] writes them.
func IsID(id string) bool {
	known, err := uuid.Parse(id)
	return err == nil && known.String() == id
}

// CountResumable counts the uploads of a user that are not finished.
func (f *Folder) CountResumable(owner string) (n int, err error) {
	if f == nil {
		return 0, nil
	}
	at := path.Dir(Resumable{Owner: owner}.dir())
	ids, err := f.root.list(at)
	for _, id := range ids {
		if _, missing := f.root.Stat(at + "/" + id + "/" + partsIn); missing == nil {
			n++
		}
	}
	return n, err
}

// LockResumable keeps others from writing to an upload, until release. The error is ErrLocked
// while another one does, and ErrNotFound if it is not there.
func (f *Folder) LockResumable(owner, id string) (release func(), err error) {
	if !IsID(id) || f == nil {
		return nil, ErrNotFound
	}
	return f.lock(id, Resumable{Owner: owner, ID: id}.dir()+"/"+lockIn)
}

// Settle puts on disk what has come of an upload that is locked, since the process that wrote
// it may have been killed before it did.
func (f *Folder) Settle(r Resumable) error {
	if r.Finished {
		return nil
	}
	kept := f.kept(r)
	if kept.Offset == r.Offset {
		return nil // it was put on disk before its digest was kept
	}
	_, err := f.Append(r, strings.NewReader(""))
	return err
}

// Append adds to the file of an upload that is locked what is read, and returns how much of it
// is on disk: also with an error.
func (f *Folder) Append(r Resumable, from io.Reader) (int64, error) {
	sum, err := f.sum(r)
	if err != nil {
		return 0, err
	}
	n, err := f.root.extend("resume/append", r.file(), r.Offset, from, sum)
	if err == nil {
		err = f.keepSum(r, sum)
	}
	return n, err
}

// Finish makes the deposit of an upload that is locked and whole, if it is not made yet, and
// returns the upload. The error is one of check, which is asked about the SHA-256 of the file,
// in hex, before.
func (f *Folder) Finish(r Resumable, now time.Time, check func(sha256 string) error) (_ Resumable, err error) {
	if r.Finished {
		return r, nil
	}
	if r.Deposit.ID == "" {
		if r.Deposit, err = f.named(r, now, check); err != nil {
			return r, err
		}
	}
	parts := r.dir() + "/" + partsIn
	tmp, err := f.note("resume-deposit", r.dir(), r.Deposit)
	if err == nil {
		err = f.root.rename("resume-deposit/rename", tmp, parts+"/"+depositIn)
	}
	if err == nil {
		err = f.root.sync(parts)
	}
	if err == nil {
		err = f.put(parts, r.Deposit)
	}
	if err != nil {
		return r, fmt.Errorf("finish the upload %s: %w", r.ID, err)
	}
	r.Finished = true
	return r, f.root.sync(r.dir())
}

// named returns the deposit of an upload with its ID, which stays the same from then on,
// however often a process dies on the way.
func (f *Folder) named(r Resumable, now time.Time, check func(sha256 string) error) (d Deposit, err error) {
	if r.Offset != r.Size {
		return r.Deposit, fmt.Errorf("%d bytes of %d have come", r.Offset, r.Size)
	}
	sum, err := f.sum(r)
	if err != nil {
		return r.Deposit, err
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	if err := check(digest); err != nil {
		return r.Deposit, err
	}
	d = r.Deposit
	if d.ID = r.Becomes; d.ID == "" {
		d.ID, err = NewID()
	}
	if err != nil {
		return r.Deposit, err
	}
	d.Received, d.Size, d.SHA256 = now.UTC(), r.Size, digest
	r.Deposit = d
	tmp, err := f.note("resume-name", r.dir(), r)
	if err == nil {
		err = f.root.rename("resume-name/rename", tmp, r.dir()+"/"+uploadIn)
	}
	return d, errors.Join(err, f.root.sync(r.dir()))
}

// Cancel removes an upload that is locked; its deposit stays, if it is finished.
func (f *Folder) Cancel(r Resumable) error { return f.takeAway(r.dir()) }

// takeAway removes the directory of an upload.
func (f *Folder) takeAway(at string) error {
	to := aside + "/" + rand.Text()
	err := f.root.rename("resume/cancel", at, to) // aside is there since the upload was begun
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cancel %s: %w", path.Base(at), ErrNotFound)
	}
	if err == nil {
		err = errors.Join(f.root.sync(path.Dir(at)), f.root.removeAll("resume/remove", to))
	}
	return err
}

// removeExpired removes the uploads to which nothing was written for long: what has come of
// a file, and what is known of one that was finished.
func (f *Folder) removeExpired(now time.Time) error {
	users, err := f.root.list(resumable)
	for _, user := range users {
		ids, listErr := f.root.list(resumable + "/" + user)
		err = errors.Join(err, listErr)
		for _, id := range ids {
			err = errors.Join(err, f.expire(resumable+"/"+user+"/"+id, now))
		}
	}
	return err
}

// expire removes the upload in a directory if it is over and no process writes to it.
func (f *Folder) expire(at string, now time.Time) error {
	release, err := f.lock(path.Base(at), at+"/"+lockIn)
	if err != nil {
		return nil //nolint:nilerr // a process works on it, or has removed it
	}
	defer release()
	if newest, err := f.newest(at); err != nil || now.Sub(newest) <= staleAfter {
		return err
	}
	return f.takeAway(at)
}

// summed is the digest of the beginning of an upload's file, so that the whole need not be
// read again when its last piece has come. It is kept when its bytes are on disk.
type summed struct {
	hash.Hash `json:"-"`
	Offset    int64  `json:"offset"` // bytes that it is of
	State     []byte `json:"state"`
}

// Write implements io.Writer.
func (s *summed) Write(p []byte) (int, error) {
	s.Offset += int64(len(p))
	return s.Hash.Write(p)
}

// kept returns the digest that was kept last, of no bytes if there is none.
func (f *Folder) kept(r Resumable) *summed {
	none := &summed{Hash: sha256.New()}
	data, err := f.root.ReadFile(r.dir() + "/" + summedIn)
	if err != nil {
		return none
	}
	s := &summed{Hash: sha256.New()}
	again, ok := s.Hash.(encoding.BinaryUnmarshaler)
	if !ok || json.Unmarshal(data, s) != nil || s.Offset > r.Offset || again.UnmarshalBinary(s.State) != nil {
		return none
	}
	return s
}

// sum returns the digest of what has come of the file.
func (f *Folder) sum(r Resumable) (*summed, error) {
	s := f.kept(r)
	if s.Offset == r.Offset {
		return s, nil
	}
	file, err := f.root.OpenFile(r.file(), os.O_RDONLY, 0)
	if err != nil {
		return s, err
	}
	defer file.Close() //nolint:errcheck // only read
	_, err = io.Copy(s, io.NewSectionReader(file, s.Offset, r.Offset-s.Offset))
	if err == nil && s.Offset != r.Offset {
		err = io.ErrUnexpectedEOF
	}
	return s, err
}

// keepSum keeps the digest of the beginning of the file.
func (f *Folder) keepSum(r Resumable, s *summed) (err error) {
	state, ok := s.Hash.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	if s.State, err = state.MarshalBinary(); err != nil {
		return err
	}
	tmp, err := f.note("resume-sum", r.dir(), s)
	if err == nil {
		err = f.root.rename("resume-sum/rename", tmp, r.dir()+"/"+summedIn)
	}
	return err
}
