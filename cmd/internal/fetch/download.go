package fetch

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path"

	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/internal/crash"
)

// Target says where a download goes and what it must be.
type Target struct {
	Dir  *os.Root // stays open
	Name string   // path below Dir, slashes between segments, in Unicode normal form C
	Want Digest   // zero = none was promised
	Size int64    // bytes promised, negative = none

	MaxBytes int64           // 0 = Config.MaxBytes
	Progress func(got int64) // called with the bytes so far, after each piece; may be nil
}

// Result is what was kept.
type Result struct {
	Bytes   int64
	SHA256  string                        // lower-case hexadecimal
	Digests map[manifest.Algorithm]string // SHA-256 and the algorithm of Target.Want
	Info    Info
}

// Download fetches a file into a directory. The file gets its name only when all
// its bytes are there, agree with size and digest, and are on disk; until then it
// is called .<random>.part beside it. When Download returns without error, a power
// cut cannot take the file or its name away; when it fails, nothing is left but
// perhaps new directories. A file that has the name already is replaced.
// Every error is an *Error.
func (c *Client) Download(ctx context.Context, url string, to Target) (Result, error) {
	shown := Redact(url)
	if err := checkName(to.Name); err != nil {
		err.URL = shown
		return Result{}, err
	}
	want, err := to.Want.parse()
	if err != nil {
		return Result{}, content(CodeBadDigest, shown, "correct algorithm and value of the digest", "the digest to compare with cannot be one: %s", err)
	}
	to.Want = want
	body, info, err := c.Get(ctx, url, GetOptions{MaxBytes: to.MaxBytes})
	if err != nil {
		return Result{}, err
	}
	defer body.Close()
	if to.Size >= 0 && info.Size >= 0 && info.Size != to.Size {
		return Result{}, sizeMismatch(shown, to.Size, "the server announces %d", info.Size)
	}
	return to.keep(shown, body, info)
}

// keep writes the body and gives it its name.
func (t Target) keep(shown string, body io.Reader, info Info) (_ Result, err error) {
	dir := path.Dir(t.Name)
	if mkErr := t.Dir.MkdirAll(dir, 0o777); mkErr != nil {
		return Result{}, disk(shown, "make the file's directory", mkErr)
	}
	name := path.Join(dir, "."+rand.Text()+".part")
	f, openErr := t.Dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if openErr != nil {
		return Result{}, disk(shown, "create the file", openErr)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = t.Dir.Remove(name) // what cannot be removed goes with the job's directory
		}
	}()
	result, err := t.copy(shown, f, body)
	if err != nil {
		return Result{}, err
	}
	result.Info = info
	if syncErr := errors.Join(f.Sync(), f.Close()); syncErr != nil {
		return Result{}, disk(shown, "write the file to disk", syncErr)
	}
	crash.Point("fetch.written")
	if renameErr := t.Dir.Rename(name, t.Name); renameErr != nil {
		return Result{}, disk(shown, "give the file its name", renameErr)
	}
	name = t.Name
	crash.Point("fetch.renamed")
	for {
		if syncErr := syncDir(t.Dir, dir); syncErr != nil {
			return Result{}, disk(shown, "write the directory to disk", syncErr)
		}
		if dir == "." {
			return result, nil
		}
		dir = path.Dir(dir)
	}
}

// copy writes the body to f and compares what came with what was promised.
func (t Target) copy(shown string, f *os.File, body io.Reader) (Result, error) {
	var algorithms []manifest.Algorithm
	if t.Want != (Digest{}) {
		algorithms = []manifest.Algorithm{t.Want.Algorithm}
	}
	h, err := NewHasher(algorithms...)
	if err != nil {
		return Result{}, content(CodeBadDigest, shown, "", "%s", err)
	}
	buf := make([]byte, 128<<10)
	for {
		n, readErr := body.Read(buf)
		if _, err := f.Write(buf[:n]); err != nil {
			return Result{}, disk(shown, "write the file", err)
		}
		_, _ = h.Write(buf[:n]) // a Hasher never fails
		if t.Size >= 0 && h.Bytes() > t.Size {
			return Result{}, sizeMismatch(shown, t.Size, "at least %d came", h.Bytes())
		}
		if t.Progress != nil && n > 0 {
			t.Progress(h.Bytes())
		}
		if readErr == io.EOF {
			break
		}
		if readErr != nil {
			return Result{}, readErr
		}
	}
	digests := h.Digests()
	if t.Size >= 0 && h.Bytes() != t.Size {
		return Result{}, sizeMismatch(shown, t.Size, "%d came", h.Bytes())
	}
	if got := digests[t.Want.Algorithm]; t.Want != (Digest{}) && got != t.Want.Value {
		return Result{}, content(CodeDigestMismatch, shown, "compare the file with the manifest: one of them is wrong",
			"the %s digest is %s, the manifest says %s", t.Want.Algorithm, got, t.Want.Value)
	}
	return Result{Bytes: h.Bytes(), SHA256: digests[manifest.SHA256], Digests: digests}, nil
}

func sizeMismatch(shown string, want int64, format string, got int64) *Error {
	return content(CodeSizeMismatch, shown, "compare the file with the manifest: one of them is wrong",
		"the manifest says %d bytes, "+format, want, got)
}

// checkName lets through what the name rule of manifests allows, in normal form.
func checkName(name string) *Error {
	const hint = "give the file another name"
	if err := manifest.CheckName(name); err != nil {
		return content(CodeBadName, "", hint, "the file cannot be kept under its name: %s", err)
	}
	if manifest.NormalName(name) != name {
		return content(CodeBadName, "", hint, "the file's name %q is not in Unicode normal form C", name)
	}
	return nil
}

func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
