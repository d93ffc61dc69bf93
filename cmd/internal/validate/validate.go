// Package validate says whether the content of a downloaded file is what it should be: its
// size and digest, its format by its first bytes, and whether a container can be read to its
// end.
package validate

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
)

// Codes of what is wrong.
const (
	CodeMissing    domain.Code = "local_copy_missing"
	CodeUnreadable domain.Code = "local_copy_unreadable"
	CodeSize       domain.Code = "size_mismatch"
	CodeFormat     domain.Code = "format_mismatch"
	CodeContainer              = container.CodeUnreadable
)

// Fault is what is wrong with a content.
type Fault struct {
	Code    domain.Code
	Message string
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

func fault(code domain.Code, format string, args ...any) error {
	return &Fault{code, fmt.Sprintf(format, args...)}
}

// Want says what a content should be.
type Want struct {
	Name   string // of the file: its end declares the format
	Size   int64  // bytes
	SHA256 string
}

// Content is what a file has, on disk.
type Content interface {
	io.ReaderAt
	io.ReadSeeker
}

// Check reads a content to its end. The error is a *[Fault] if the content is wrong, and
// another one if ctx has ended.
func Check(ctx context.Context, c Content, want Want) error {
	digest := sha256.New()
	size, err := io.Copy(digest, reading{ctx, c})
	if err != nil {
		return unreadable(ctx, CodeUnreadable, err)
	}
	if size != want.Size {
		return fault(CodeSize, "it has %d bytes, and had %d when it was downloaded", size, want.Size)
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != want.SHA256 {
		return fault(domain.CodeDigestMismatch, "its SHA-256 is %s, and was %s when it was downloaded", got, want.SHA256)
	}
	form, declared := formatOf(want.Name)
	if !declared {
		return nil
	}
	head := make([]byte, headBytes)
	n, err := c.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return unreadable(ctx, CodeUnreadable, err)
	}
	if !form.begins(head[:n]) {
		return fault(CodeFormat, "it does not begin as a file of the format %s, which its name declares", form.name)
	}
	if form.read == nil {
		return nil
	}
	if _, err := c.Seek(0, io.SeekStart); err != nil {
		return unreadable(ctx, CodeUnreadable, err)
	}
	return unreadable(ctx, CodeContainer, form.read(ctx, c, size))
}

// unreadable returns the fault of an error, nil = there is none.
func unreadable(ctx context.Context, code domain.Code, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case code == CodeContainer:
		return fault(code, "the container cannot be read to its end: %v", err)
	default:
		return fault(code, "it cannot be read: %v", err)
	}
}

// reading is a reader that ends with its context.
type reading struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// format is a format that the end of a name declares.
type format struct {
	name  string
	ends  []string
	magic []magic // one of them; none = any begin
	read  func(ctx context.Context, c Content, size int64) error
}

// magic is what a content has at an offset.
type magic struct {
	at   int
	text string
}

// headBytes is how many first bytes tell a format.
const headBytes = 512

func (f format) begins(head []byte) bool {
	for _, m := range f.magic {
		if len(head) >= m.at+len(m.text) && bytes.Equal(head[m.at:m.at+len(m.text)], []byte(m.text)) {
			return true
		}
	}
	return len(f.magic) == 0
}

// formats are those that are checked. A name with another end declares none.
var formats = []format{
	{"zip", []string{".zip", ".docx", ".xlsx", ".odt", ".epub", ".jar"}, []magic{{0, "PK\x03\x04"}, {0, "PK\x05\x06"}}, readZip},
	{"tar", []string{".tar"}, []magic{{257, "ustar"}}, readTar},
	{"gzip", []string{".gz", ".tgz"}, []magic{{0, "\x1f\x8b"}}, readGzip},
	{"bzip2", []string{".bz2"}, []magic{{0, "BZh"}}, nil},
	{"xz", []string{".xz"}, []magic{{0, "\xfd7zXZ\x00"}}, nil},
	{"zstandard", []string{".zst"}, []magic{{0, "\x28\xb5\x2f\xfd"}}, nil},
	{"PDF", []string{".pdf"}, []magic{{0, "%PDF-"}}, nil},
	{"PNG", []string{".png"}, []magic{{0, "\x89PNG\r\n\x1a\n"}}, nil},
	{"JPEG", []string{".jpg", ".jpeg"}, []magic{{0, "\xff\xd8\xff"}}, nil},
	{"GIF", []string{".gif"}, []magic{{0, "GIF87a"}, {0, "GIF89a"}}, nil},
	{"TIFF", []string{".tif", ".tiff"}, []magic{{0, "II*\x00"}, {0, "MM\x00*"}, {0, "II+\x00"}, {0, "MM\x00+"}}, nil},
	{"FITS", []string{".fits", ".fit", ".fts"}, []magic{{0, "SIMPLE  ="}}, nil},
	{"HDF5", []string{".h5", ".hdf5", ".he5"}, []magic{{0, "\x89HDF\r\n\x1a\n"}}, nil},
	{"HDF4", []string{".hdf", ".hdf4"}, []magic{{0, "\x0e\x03\x13\x01"}, {0, "\x89HDF\r\n\x1a\n"}}, nil},
	{"NetCDF", []string{".nc", ".nc4", ".cdf"}, []magic{{0, "CDF\x01"}, {0, "CDF\x02"}, {0, "CDF\x05"}, {0, "\x89HDF\r\n\x1a\n"}}, nil},
	{"GRIB", []string{".grib", ".grb", ".grib2", ".grb2"}, []magic{{0, "GRIB"}}, nil},
	{"SQLite", []string{".sqlite"}, []magic{{0, "SQLite format 3\x00"}}, nil},
}

func formatOf(name string) (format, bool) {
	end := strings.ToLower(path.Ext(name))
	for _, f := range formats {
		for _, e := range f.ends {
			if e == end {
				return f, true
			}
		}
	}
	return format{}, false
}

// maxUnpacked bounds what is unpacked of a container, in bytes: a compressed bomb is not read
// for days.
const maxUnpacked = 1 << 40

// unpack reads a content to its end.
func unpack(ctx context.Context, from io.Reader, left *int64) error {
	n, err := io.Copy(io.Discard, io.LimitReader(reading{ctx, from}, *left+1))
	if *left -= n; err == nil && *left < 0 {
		err = fmt.Errorf("it unpacks to more than %d bytes", int64(maxUnpacked))
	}
	return err
}

func readZip(ctx context.Context, c Content, size int64) error {
	z, err := zip.NewReader(c, size)
	if err != nil {
		return err
	}
	left := int64(maxUnpacked)
	for _, f := range z.File {
		if f.Flags&1 != 0 { // encrypted: its content is not for us
			continue
		}
		r, err := f.Open()
		if err == nil {
			err = unpack(ctx, r, &left)
			err = errors.Join(err, r.Close())
		}
		if err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
	}
	return nil
}

func readTar(ctx context.Context, c Content, _ int64) error {
	left := int64(maxUnpacked)
	for t := tar.NewReader(bufio.NewReader(reading{ctx, c})); ; {
		_, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpack(ctx, t, &left)
		}
		if err != nil {
			return err
		}
	}
}

func readGzip(ctx context.Context, c Content, _ int64) error {
	z, err := gzip.NewReader(bufio.NewReader(reading{ctx, c}))
	if err != nil {
		return err
	}
	left := int64(maxUnpacked)
	return unpack(ctx, z, &left)
}
