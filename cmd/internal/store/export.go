package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// exportTmp is the file of an export that is being written. Only one process exports into a
// directory, so that one name is enough, and what a killed one left is written over.
const exportTmp = ".accession-export.part"

// Export is a directory outside of the store into which files are copied. A file is there
// under its name when all of it is on disk and has its digest. What is there is never
// replaced, so that an export that was interrupted is completed by the next one.
type Export struct {
	dir  *dir
	in   *folders
	lock *os.File
}

// OpenExport opens a directory, which it creates if need be, for one process at a time.
// CodeConflict: another process exports into it.
func OpenExport(folder string) (*Export, error) {
	const op = "open the directory of an export"
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, wrap(op, folder, err)
	}
	d, err := openDir(folder)
	if err != nil {
		return nil, wrap(op, folder, err)
	}
	e := &Export{dir: d, in: d.folders()}
	if e.lock, err = d.root.Open("."); err == nil {
		if err = syscall.Flock(int(e.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
			err = &Error{Code: CodeConflict, Op: op, Key: folder, Hint: "another process exports into it: let it end, or name another directory"}
		}
	}
	if err != nil {
		_ = e.close()
		return nil, wrap(op, folder, err)
	}
	return e, nil
}

// Copy copies what open opens to a name that [CheckName] allows, unless a file with the size
// (-1 = any) and digest of want is there already: then written is false. CodeConflict: the
// file there is another one. CodeMismatch: what is copied is not what it should be, and no
// file is made.
func (e *Export) Copy(ctx context.Context, want Blob, name string, open func(ctx context.Context) (io.ReadCloser, error)) (written bool, err error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	there, err := e.has(name, want)
	if err != nil || there {
		return false, wrap("export", name, err)
	}
	from, err := open(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = from.Close() }()
	if err := e.write(from, want); err != nil {
		return false, wrap("export", name, err)
	}
	return true, wrap("export", name, e.in.in(".", func(from folder) error { return e.in.move(from, exportTmp, name, false) }))
}

// write writes the temporary file, to the disk, if it is what it should be.
func (e *Export) write(from io.Reader, want Blob) error {
	if err := e.dir.root.remove("export/remove-left", exportTmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := e.dir.root.create("export/create", exportTmp)
	if err != nil {
		return err
	}
	m := newMeter()
	_, err = io.Copy(f, io.TeeReader(from, m))
	if err == nil {
		err = is(m.blob(want.Key), want)
	}
	if err != nil {
		return errors.Join(err, f.Close(), e.dir.root.remove("export/remove-bad", exportTmp))
	}
	return syncFile("export/sync", f)
}

// is returns CodeMismatch unless got is what is wanted.
func is(got, want Blob) error {
	if want.Size < 0 {
		want.Size = got.Size
	}
	return got.check(&want)
}

// has reports whether a file is there; the error is CodeConflict if it is another one.
func (e *Export) has(name string, want Blob) (bool, error) {
	f, err := e.dir.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	m := newMeter()
	if _, err := io.Copy(m, f); err != nil {
		return false, err
	}
	if err := is(m.blob(name), want); err != nil {
		return false, &Error{Code: CodeConflict, Op: "export", Key: name, Hint: "another file is there, which is not replaced: name an empty directory, or remove it", Err: err}
	}
	return true, nil
}

// Close ends the export: the names of all files are on disk when it returns nil.
func (e *Export) Close() error {
	return wrap("export", e.dir.root.Name(), errors.Join(e.in.sync(), e.close()))
}

func (e *Export) close() (err error) {
	e.in.close()
	if e.lock != nil {
		// Closing alone leaves it locked while a child that is just being started has a copy.
		_ = syscall.Flock(int(e.lock.Fd()), syscall.LOCK_UN)
		err = e.lock.Close()
	}
	return errors.Join(err, e.dir.root.Close())
}
