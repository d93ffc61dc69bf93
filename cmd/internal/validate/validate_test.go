package validate_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/validate"
	"github.com/accession-ingest/accession/domain"
)

// written is what a function writes.
func written(t *testing.T, write func(w io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T) []byte {
	return written(t, func(w io.Writer) error {
		z := zip.NewWriter(w)
		f, err := z.Create("a.txt")
		if err == nil {
			_, err = io.WriteString(f, strings.Repeat("a line of the file\n", 100))
		}
		return errors.Join(err, z.Close())
	})
}

func tarred(t *testing.T) []byte {
	return written(t, func(w io.Writer) error {
		a := tar.NewWriter(w)
		content := strings.Repeat("x", 5000)
		err := a.WriteHeader(&tar.Header{Name: "a.txt", Mode: 0o644, Size: int64(len(content))})
		if err == nil {
			_, err = io.WriteString(a, content)
		}
		return errors.Join(err, a.Close())
	})
}

func gzipped(t *testing.T) []byte {
	return written(t, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		_, err := io.WriteString(z, "what is in it")
		return errors.Join(err, z.Close())
	})
}

// damaged is a content with one byte changed.
func damaged(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0xff
	return b
}

// check checks a content as it is on disk; was is what was downloaded.
func check(ctx context.Context, t *testing.T, name string, content, was []byte) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.Sum256(was)
	return validate.Check(ctx, f, validate.Want{Name: name, Size: int64(len(was)), SHA256: hex.EncodeToString(sum[:])})
}

// TestCheck: real files of each format are valid; damaged ones are found by what is wrong.
func TestCheck(t *testing.T) {
	t.Parallel()
	picture := image.NewGray(image.Rect(0, 0, 8, 8))
	aPNG := written(t, func(w io.Writer) error { return png.Encode(w, picture) })
	aJPEG := written(t, func(w io.Writer) error { return jpeg.Encode(w, picture, nil) })
	aZip, aTar, aGzip := zipped(t), tarred(t), gzipped(t)
	for name, c := range map[string]struct {
		file         string
		content, was []byte // was nil = as the content
		want         domain.Code
	}{
		"text":              {"a.txt", []byte("text"), nil, ""},
		"empty":             {"a.txt", nil, nil, ""},
		"no end":            {"README", aPNG, nil, ""},
		"png":               {"n/a.png", aPNG, nil, ""},
		"upper case":        {"A.PNG", aPNG, nil, ""},
		"jpeg":              {"a.jpeg", aJPEG, nil, ""},
		"fits":              {"a.fits", []byte("SIMPLE  =                    T / file does conform to FITS standard"), nil, ""},
		"netcdf":            {"a.nc", []byte("CDF\x01\x00\x00\x00\x00"), nil, ""},
		"jpeg named png":    {"a.png", aJPEG, nil, validate.CodeFormat},
		"page of an error":  {"a.fits", []byte("<html>not found</html>"), nil, validate.CodeFormat},
		"empty png":         {"a.png", nil, nil, validate.CodeFormat},
		"truncated":         {"a.txt", []byte("tex"), []byte("text"), validate.CodeSize},
		"changed":           {"a.txt", []byte("tent"), []byte("text"), domain.CodeDigestMismatch},
		"zip":               {"a.zip", aZip, nil, ""},
		"zip, damaged":      {"a.zip", damaged(aZip, 45), nil, validate.CodeContainer},
		"zip, cut off":      {"a.zip", aZip[:len(aZip)-30], nil, validate.CodeContainer},
		"tar":               {"a.tar", aTar, nil, ""},
		"tar, cut off":      {"a.tar", aTar[:3000], nil, validate.CodeContainer},
		"tar, damaged":      {"a.tar", damaged(aTar, 10), nil, validate.CodeContainer},
		"gzip":              {"a.gz", aGzip, nil, ""},
		"gzip, cut off":     {"a.gz", aGzip[:len(aGzip)-9], nil, validate.CodeContainer},
		"gzip, damaged":     {"a.tgz", damaged(aGzip, len(aGzip)-8), nil, validate.CodeContainer},
		"gzip of two parts": {"a.gz", append(bytes.Clone(aGzip), aGzip...), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := c.was
			if was == nil {
				was = c.content
			}
			err := check(t.Context(), t, c.file, c.content, was)
			var fault *validate.Fault
			if got := domain.Code(""); err != nil && !errors.As(err, &fault) || fault != nil && fault.Code != c.want || fault == nil && got != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// unreadable is a content on a disk that does not give it, or its beginning alone.
type unreadable struct {
	*bytes.Reader
	sum bool // the first reading of all succeeds
}

func (u *unreadable) Read(p []byte) (int, error) {
	if u.sum {
		return u.Reader.Read(p)
	}
	return 0, syscall.EIO
}

func (u *unreadable) ReadAt([]byte, int64) (int, error) { return 0, syscall.EIO }

// TestUnreadable: a content that the disk does not give is wrong, at its first reading or later.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("text"))
	for _, first := range []bool{false, true} {
		err := validate.Check(t.Context(), &unreadable{bytes.NewReader([]byte("text")), first}, validate.Want{Name: "a.png", Size: 4, SHA256: hex.EncodeToString(sum[:])})
		var fault *validate.Fault
		if !errors.As(err, &fault) || fault.Code != validate.CodeUnreadable || !strings.Contains(fault.Message, syscall.EIO.Error()) {
			t.Errorf("%v", err)
		}
	}
}

// TestCheckEnds: a check that is ended says nothing of the file.
func TestCheckEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := check(ctx, t, "a.zip", zipped(t), zipped(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
