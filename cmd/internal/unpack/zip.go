package unpack

import (
	"archive/zip"
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/container"
)

// Flags of a zip that say that something is encrypted.
const encrypted = 1 | 1<<6 | 1<<13

// How many bytes of a zip are read before its first member is: to find its directory, and for
// each member that it may have.
const (
	findDirectory = 1 << 20
	perEntry      = 1 << 10
)

// zip reads a zip to its end.
func (w *walker) zip(take func(member) error) error {
	left := int64(findDirectory) + int64(w.limits.Files)*perEntry
	z, err := zip.NewReader(at{w, &left}, w.c.Size)
	if errors.Is(err, errLeft) || left < 0 {
		return container.Fault(container.CodeFiles, "", "the directory of the container has more bytes than that of %d files needs, and more are not allowed: divide the object", w.limits.Files)
	}
	if err != nil {
		return w.fault("", &formatError{err})
	}
	left = 1 << 62 // the content has limits of its own
	if err := w.apart(z.File); err != nil {
		return err
	}
	for _, f := range z.File {
		m := member{Member: zipMember(f), walk: w, open: f.Open}
		if m.Kind == container.File {
			if err := readable(f); err != nil {
				return err
			}
		}
		if err := take(m); err != nil {
			return err
		}
	}
	return nil
}

// zipMember describes a member of a zip.
func zipMember(f *zip.File) container.Member {
	m := container.Member{Name: f.Name, Size: int64(min(f.UncompressedSize64, 1<<62))}
	switch mode := f.Mode(); {
	case strings.HasSuffix(f.Name, "/"), mode.IsDir():
		m.Kind, m.Size = container.Folder, 0
	case mode&fs.ModeSymlink != 0:
		m.Kind, m.What = container.Link, "a symbolic link"
	case mode&(fs.ModeDevice|fs.ModeCharDevice) != 0:
		m.Kind, m.What = container.Special, "a device"
	case mode&fs.ModeNamedPipe != 0:
		m.Kind, m.What = container.Special, "a pipe"
	case mode&fs.ModeSocket != 0:
		m.Kind, m.What = container.Special, "a socket"
	}
	return m
}

// methods are those that zips are compressed by, for messages.
var methods = map[uint16]string{1: "Shrink", 6: "Implode", 9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "zstandard", 95: "xz", 98: "PPMd", 99: "encryption by AES"}

// readable returns an error unless a file of a zip can be read.
func readable(f *zip.File) error {
	switch {
	case f.Flags&encrypted != 0 || f.Method == 99:
		return container.Fault(container.CodeEncrypted, f.Name, "is encrypted: make the container without a password")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return container.Fault(container.CodeMethod, f.Name, "is compressed by the method %d (%s), which is not read: use Deflate, or none", f.Method, cmp.Or(methods[f.Method], "unknown"))
	}
	return nil
}

// apart returns an error unless the members of a zip have bytes of their own: a zip whose
// members share bytes can unpack to far more than any other.
func (w *walker) apart(files []*zip.File) error {
	type span struct {
		from, to int64
		name     string
	}
	spans := make([]span, 0, len(files))
	for _, f := range files {
		if f.CompressedSize64 == 0 {
			continue
		}
		from, err := f.DataOffset()
		if err != nil {
			return w.fault(f.Name, &formatError{err})
		}
		if f.CompressedSize64 > uint64(w.c.Size) || from > w.c.Size-int64(f.CompressedSize64) {
			return unreadable(f.Name, errors.New("it ends behind the end of the container"))
		}
		spans = append(spans, span{from, from + int64(f.CompressedSize64), f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.from < a.to {
			return container.Fault(container.CodeOverlap, b.name, "shares bytes of the container with %s: make the container again", container.Quote(a.name))
		}
	}
	return nil
}
