package manifests

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/domain/manifest"
)

// digestsSuffix ends the name of the file that keeps the digests of a manifest until it is
// complete: a JSON object for each file, in lines.
const digestsSuffix = ".digests"

// partSuffix ends the name of a manifest that is not whole yet. A run that was killed leaves
// it, and the next one writes it again.
const partSuffix = ".part"

// file is one of the files that a manifest lists.
type file struct {
	name     string // in the object, with slashes
	url      string // "" = it is below a directory
	size     int64  // bytes
	modified time.Time
	sha256   string
}

// key is what the file of digests calls the file.
func (f file) key() string { return cmp.Or(f.url, f.name) }

// files returns the files below a directory in the order of their names, without those that
// the run itself writes.
func files(dir string, without ...string) (found []file, err error) {
	own := map[string]bool{}
	for _, name := range without {
		if abs, err := filepath.Abs(name); err == nil {
			own[abs] = true
		}
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil
		}
		if abs, err := filepath.Abs(path); err == nil && own[abs] {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%q is no plain file (%s); remove it, or put the file itself there", path, info.Mode().Type())
		}
		f := file{name: filepath.ToSlash(name), size: info.Size(), modified: info.ModTime()}
		if err := manifest.CheckName(f.name); err != nil {
			return err
		}
		found = append(found, f)
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there are no files below %q", dir)
	}
	return found, err
}

// kept is a line of the file of digests.
type kept struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"`
}

// keptBy returns the lines of a file of digests by the names that they are of. The last
// line may have been cut off.
func keptBy(name string) (map[string]kept, error) {
	all := map[string]kept{}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		var k kept
		if json.Unmarshal(lines.Bytes(), &k) == nil && len(k.SHA256) == hex.EncodedLen(sha256.Size) {
			all[k.Name] = k
		}
	}
	return all, lines.Err()
}

// progressEvery is how many bytes are read between two reports of the progress.
const progressEvery = 8 << 20

// reader computes the digest of a file, unless the one that is kept is that of the file as it
// is now, and reports whether it was. It is told of the bytes that were read.
type reader func(ctx context.Context, f *file, k kept, at func(n int64)) (known bool, err error)

// digest computes the digests of files, but for those that are kept for the manifest; and
// keeps them, when it has a name.
func digest(ctx context.Context, found []file, read reader, out string, made *Made, report func(render.Step)) error {
	keep := func(string, file) error { return nil }
	known := map[string]kept{}
	if out != "" {
		var err error
		if known, err = keptBy(out + digestsSuffix); err != nil {
			return err
		}
		lines, err := os.OpenFile(out+digestsSuffix, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer lines.Close()                                //nolint:errcheck // what is missing is computed again
		if _, err := lines.WriteString("\n"); err != nil { // the line before may have been cut off
			return err
		}
		keep = func(key string, f file) error {
			return json.NewEncoder(lines).Encode(kept{key, f.size, f.modified, f.sha256})
		}
	}
	at, next := progress(found, report)
	for i := range found {
		f := &found[i]
		key := f.key()
		is, err := read(ctx, f, known[key], at)
		if err != nil {
			return err
		}
		if made.Bytes += f.size; is {
			made.Known++
		} else if err := keep(key, *f); err != nil {
			return err
		}
		next()
	}
	return nil
}

// progress returns what is told of the bytes that were read, and of the end of each file. It
// reports bytes when the sizes of all files are known before they are read, else files.
func progress(found []file, report func(render.Step)) (at func(n int64), next func()) {
	step, total, done := render.Step{Doing: "reading", Unit: "MiB "}, int64(0), int64(0)
	for _, f := range found {
		total += f.size
	}
	if step.Total = uint64(total >> 20); total > 0 {
		return func(n int64) {
			done += n
			step.Done = uint64(done >> 20)
			report(step)
		}, func() {}
	}
	step.Unit, step.Total = "files ", uint64(len(found))
	return func(int64) { report(step) }, func() {
		step.Done++
		report(step)
	}
}

// below returns the reader of files below a directory.
func below(dir string) reader {
	return func(ctx context.Context, f *file, k kept, at func(n int64)) (known bool, err error) {
		if k.Size == f.size && k.Modified.Equal(f.modified) && k.SHA256 != "" {
			f.sha256 = k.SHA256
			at(f.size)
			return true, nil
		}
		sum := sha256.New()
		err = f.copy(ctx, sum, dir, at)
		f.sha256 = hex.EncodeToString(sum.Sum(nil))
		return false, err
	}
}

// copy writes the content of a file, which must not change meanwhile.
func (f *file) copy(ctx context.Context, to io.Writer, dir string, at func(n int64)) error {
	r, err := os.OpenInRoot(dir, filepath.FromSlash(f.name))
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	n, content := int64(0), io.LimitReader(r, f.size)
	for err == nil && ctx.Err() == nil {
		var some int64
		some, err = io.CopyN(to, content, progressEvery)
		n += some
		at(some)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	is, err := r.Stat()
	if err == nil && (n != f.size || is.Size() != f.size || !is.ModTime().Equal(f.modified)) {
		err = fmt.Errorf("%q was changed while it was read", f.name)
	}
	return err
}
