package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/internal/crash"
)

// Outputs is what a working directory has of the outputs of entries of the compute queue:
//
//	outputs/EID/CLAIM.open/.RANDOM           what is being written
//	outputs/EID/CLAIM.open/NUMBER.SHA256.NAME  an output of a claim that has not ended
//	outputs/EID/CLAIM/NUMBER.SHA256.NAME     an output of a claim that ends with a result
//
// CLAIM is the version of the entry by its claim, a dash, and the holder. Of two outputs of one
// name the one with the higher number counts. A closed claim gets no more outputs.
type Outputs struct{ root root }

// Outputs returns what the working directory has of the outputs of entries.
func (w *Work) Outputs() Outputs { return Outputs{w.root} }

const (
	outputsDir = "outputs"
	openSuffix = ".open"
)

// OutputClaim is the claim of an entry under which outputs are put.
type OutputClaim struct {
	Entry   compute.ID
	Version int64  // of the entry, by the claim
	Holder  string // who has it: letters and digits
}

func outputsOf(id compute.ID) (string, error) {
	if _, err := compute.ParseID(string(id)); err != nil {
		return "", &Error{Code: CodeBadName, Op: "find the outputs", Key: string(id), Err: err}
	}
	return outputsDir + "/" + string(id), nil
}

// dir returns the directory of the claim below the root, once it is closed.
func (c OutputClaim) dir() (string, error) {
	parent, err := outputsOf(c.Entry)
	if err == nil && !claimID.MatchString(c.Holder) {
		err = &Error{Code: CodeBadName, Op: "find the outputs", Key: c.Holder}
	}
	return fmt.Sprintf("%s/%d-%s", parent, c.Version, c.Holder), err
}

// output is an output on disk.
type output struct {
	entry.Output
	number int
	file   string
}

// list returns the newest output of each name in a directory, and the highest number there.
// fs.ErrNotExist: the directory is not there.
func (o Outputs) list(dir string) (all []output, last int, err error) {
	files, err := fs.ReadDir(o.root.FS(), dir)
	for _, f := range files {
		number, rest, _ := strings.Cut(f.Name(), ".")
		sum, name, _ := strings.Cut(rest, ".")
		n, bad := strconv.Atoi(number)
		if bad != nil || entry.CheckOutput(name) != nil {
			continue // it is being written
		}
		info, gone := f.Info()
		if errors.Is(gone, fs.ErrNotExist) {
			continue
		}
		if gone != nil {
			return nil, 0, gone
		}
		last = max(last, n)
		all = newest(all, output{entry.Output{Name: name, Size: info.Size(), SHA256: sum}, n, dir + "/" + f.Name()})
	}
	return all, last, err
}

// newest adds an output, or puts it in the place of an older one.
func newest(all []output, o output) []output {
	for i := range all {
		if all[i].Name == o.Name {
			if o.number > all[i].number {
				all[i] = o
			}
			return all
		}
	}
	return append(all, o)
}

// Put writes an output of a claim and puts it on disk, in place of one of the same name. still
// is called when all of it is written: its error, or that of content, is returned as it is, and
// nothing is kept. CodeConflict: the claim is closed, and this is not one of its outputs.
// CodeTooMany: it has too many.
func (o Outputs) Put(c OutputClaim, name string, content io.Reader, still func() error) (kept entry.Output, err error) {
	from := &source{Reader: content}
	kept, err = o.put(c, name, from, func() error {
		from.err = still()
		return from.err
	})
	if from.err != nil {
		return entry.Output{}, from.err
	}
	return kept, wrap("keep the output", name, err)
}

// source is a content, and the error of the caller, which has refused it.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (o Outputs) put(c OutputClaim, name string, content io.Reader, still func() error) (kept entry.Output, err error) {
	if err := entry.CheckOutput(name); err != nil {
		return kept, &Error{Code: CodeBadName, Op: "keep the output", Key: name, Err: err}
	}
	dir, err := c.dir()
	if err != nil {
		return kept, err
	}
	if over, err := o.Closed(c); over || err != nil {
		if err != nil {
			return kept, err
		}
		return o.again(dir, name, content)
	}
	open := dir + openSuffix
	if err := o.root.mkdirAll("outputs/directory", open); err != nil {
		return kept, err
	}
	tmp := open + "/." + rand.Text()
	f, err := o.root.create("outputs/create", tmp)
	if err != nil {
		return kept, closed(err)
	}
	sum := sha256.New()
	err = crash.Around("store/outputs/write", func() error {
		kept.Size, err = io.Copy(io.MultiWriter(f, sum), content)
		return errors.Join(err, f.Sync(), f.Close())
	})
	kept.Name, kept.SHA256 = name, hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = still()
	}
	if err == nil {
		err = o.name(dir, tmp, kept)
	}
	if err != nil {
		undone := o.root.remove("outputs/undo", tmp)
		if errors.Is(undone, fs.ErrNotExist) {
			undone = nil
		}
		return entry.Output{}, errors.Join(err, undone)
	}
	return kept, nil
}

// closed returns the error of a directory that has another name by now, or is gone.
func closed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{Code: CodeConflict, Op: "keep the output", Hint: "the outputs of its claim are complete", Err: err}
	}
	return err
}

// name renames an output that is on disk, unless it is there already.
func (o Outputs) name(dir, tmp string, kept entry.Output) error {
	open := dir + openSuffix
	all, last, err := o.list(open)
	if err != nil {
		return closed(err)
	}
	if last >= entry.MaxOutputs {
		return &Error{Code: CodeTooMany, Op: "keep the output", Key: kept.Name}
	}
	for _, is := range all {
		if is.Output == kept {
			return errors.Join(o.root.remove("outputs/same", tmp), o.sync(dir, open))
		}
	}
	if err := o.root.rename("outputs/rename", tmp, fmt.Sprintf("%s/%d.%s.%s", open, last+1, kept.SHA256, kept.Name)); err != nil {
		return closed(err)
	}
	return o.sync(dir, open)
}

// sync puts the entries of a directory of outputs and of those above it on disk. One that was
// closed meanwhile is put on disk by those who have closed it.
func (o Outputs) sync(dir, in string) error {
	parent := dir[:strings.LastIndexByte(dir, '/')]
	for _, d := range []string{in, parent, outputsDir, "."} {
		if err := o.root.syncDir(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// again compares an output with those of a closed claim.
func (o Outputs) again(dir, name string, content io.Reader) (kept entry.Output, err error) {
	sum := sha256.New()
	kept.Name = name
	if kept.Size, err = io.Copy(sum, content); err != nil {
		return entry.Output{}, err
	}
	kept.SHA256 = hex.EncodeToString(sum.Sum(nil))
	all, _, err := o.list(dir)
	for _, is := range all {
		if is.Output == kept {
			return kept, nil
		}
	}
	return entry.Output{}, errors.Join(err, closed(fs.ErrNotExist))
}

// Close lets a claim get no more outputs, and returns those that it has, sorted by name.
func (o Outputs) Close(c OutputClaim) (kept []entry.Output, err error) {
	defer func() { err = wrap("close the outputs", string(c.Entry), err) }()
	dir, err := c.dir()
	if err != nil {
		return nil, err
	}
	if err := o.root.rename("outputs/close", dir+openSuffix, dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	all, _, err := o.list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it has none
	}
	if err == nil {
		err = o.removeLeft(dir)
	}
	if err == nil {
		err = o.sync(dir, dir)
	}
	for _, is := range all {
		kept = append(kept, is.Output)
	}
	return kept, err
}

// removeLeft removes what was being written when a claim was closed.
func (o Outputs) removeLeft(dir string) error {
	files, err := fs.ReadDir(o.root.FS(), dir)
	for _, f := range files {
		if err == nil && strings.HasPrefix(f.Name(), ".") {
			if err = o.root.remove("outputs/left", dir+"/"+f.Name()); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
	}
	return err
}

// Open reads an output of the closed claim with which an entry had a version. CodeNotFound: it
// is not there.
func (o Outputs) Open(id compute.ID, version int64, out entry.Output) (*os.File, error) {
	claims, err := o.Claims(id)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		if c.Open || c.Version != version {
			continue
		}
		all, _, err := o.list(c.dir)
		if err != nil {
			return nil, wrap("open the output", out.Name, err)
		}
		for _, is := range all {
			if is.Output == out {
				f, err := o.root.Open(is.file)
				return f, wrap("open the output", out.Name, err)
			}
		}
	}
	return nil, wrap("open the output", out.Name, fs.ErrNotExist)
}

// Closed reports whether a claim has outputs and is closed.
func (o Outputs) Closed(c OutputClaim) (bool, error) {
	dir, err := c.dir()
	if err != nil {
		return false, err
	}
	_, err = o.root.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, wrap("look for the outputs", dir, err)
}

// Claimed is what is there of the outputs of a claim.
type Claimed struct {
	Version  int64
	Open     bool
	Modified time.Time // when an output was put, or the claim was closed

	dir string
}

// Entries returns the entries that have outputs, sorted.
func (o Outputs) Entries() (ids []compute.ID, err error) {
	dirs, err := fs.ReadDir(o.root.FS(), outputsDir)
	for _, d := range dirs {
		if id, bad := compute.ParseID(d.Name()); bad == nil {
			ids = append(ids, id)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return ids, wrap("list", outputsDir, err)
}

// Claims returns the claims of an entry that have outputs.
func (o Outputs) Claims(id compute.ID) (all []Claimed, err error) {
	parent, err := outputsOf(id)
	if err != nil {
		return nil, err
	}
	dirs, err := fs.ReadDir(o.root.FS(), parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, d := range dirs {
		version, _, _ := strings.Cut(d.Name(), "-")
		n, bad := strconv.ParseInt(version, 10, 64)
		if bad != nil || !d.IsDir() {
			continue
		}
		info, gone := d.Info()
		if errors.Is(gone, fs.ErrNotExist) {
			continue
		}
		if gone != nil {
			return nil, wrap("list", parent, gone)
		}
		all = append(all, Claimed{Version: n, Open: strings.HasSuffix(d.Name(), openSuffix), Modified: info.ModTime(), dir: parent + "/" + d.Name()})
	}
	return all, wrap("list", parent, err)
}

// Remove removes the outputs of a claim, and the directory of its entry if that has no others.
func (o Outputs) Remove(id compute.ID, c Claimed) error {
	parent, err := outputsOf(id)
	if err == nil {
		err = o.root.removeAll("outputs/remove", c.dir)
	}
	if err == nil {
		err = o.Forget(id)
	}
	return wrap("remove the outputs", parent, err)
}

// Forget removes the directory of an entry without outputs.
func (o Outputs) Forget(id compute.ID) error {
	parent, err := outputsOf(id)
	if err != nil {
		return err
	}
	err = o.root.remove("outputs/forget", parent)
	if CodeOf(wrap("", "", err)) == CodeConflict || errors.Is(err, fs.ErrNotExist) {
		return nil // it has others, or is gone
	}
	return wrap("remove the outputs", parent, err)
}
