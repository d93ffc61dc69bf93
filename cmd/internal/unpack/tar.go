package unpack

import (
	"archive/tar"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/accession-ingest/accession/domain/container"
)

// block is how many bytes a tar is divided into.
const block = 512

// maxWindow is how many bytes of what was unpacked a zstandard stream may refer back to: what
// zstd itself takes without being asked.
const maxWindow = 128 << 20

// tar reads a tar to its end.
func (w *walker) tar(format container.Format, take func(member) error) error {
	from, end, err := decompressed(format, w.stream(), maxWindow)
	if err != nil {
		return w.fault("", &formatError{err})
	}
	defer end()
	raw := &rawTar{from: bufio.NewReaderSize(from, 1<<16), w: w}
	if format != container.Tar {
		head, err := raw.from.Peek(container.HeadBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return w.fault("", &formatError{err})
		}
		if !container.BeginsTar(head) {
			return container.Fault(container.CodeFormat, "", "the container is compressed, and no tar is in it: make it %s, or deposit it as a file", container.Supported)
		}
	}
	last := ""
	for t := tar.NewReader(raw); ; {
		before := raw.n + padding(raw.n) // where the next header begins
		h, err := t.Next()
		if errors.Is(err, io.EOF) && raw.n >= before+block {
			break
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("the mark of its end is missing")
		}
		if err != nil {
			return w.fault("", &afterError{last, &formatError{raw.or(err)}})
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		last = h.Name
		m := member{Member: tarMember(h), walk: w, open: func() (io.ReadCloser, error) { return io.NopCloser(rawContent{t, raw}), nil }}
		if err := take(m); err != nil {
			return err
		}
	}
	return w.fault("", raw.rest())
}

func padding(n int64) int64 { return (block - n%block) % block }

// decompressed returns the tar in a compressed stream..
func decompressed(format container.Format, from io.Reader, window uint64) (r io.Reader, end func(), err error) {
	end = func() {}
	switch format {
	case container.TarGzip:
		r, err = gzip.NewReader(from)
	case container.TarBzip2:
		r = bzip2.NewReader(from)
	case container.TarZstd:
		var z *zstd.Decoder
		if z, err = zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true)); err == nil {
			r, end = z, z.Close
		}
	default:
		r = from
	}
	return r, end, err
}

// rawTar counts the bytes of a tar with its headers, and ends at the limits.
type rawTar struct {
	from *bufio.Reader
	w    *walker
	n    int64
	err  error // of the stream, which the tar may hide
}

// Read implements io.Reader.
func (r *rawTar) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	// Headers need no more than the files may have, and a little for each of them.
	if r.n += int64(n); r.n-perMember*int64(r.w.limits.Files)-rawSlack > r.w.most && err == nil {
		err = container.NewChecker("", r.w.c.Size, r.w.limits).Limit("", r.n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Bytes of headers: for each member, and for all.
const (
	perMember = 16 << 10
	rawSlack  = 1 << 20
)

// or returns the error of the stream, if it has one, else that of the tar.
func (r *rawTar) or(err error) error {
	if r.err != nil {
		return r.err
	}
	return err
}

// rest reads what is behind the end of a tar: zeros.
func (r *rawTar) rest() error {
	buf := make([]byte, 1<<15)
	for {
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return &formatError{errors.New("something stands behind its end")}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &formatError{err}
		}
	}
}

// rawContent is the content of a member, whose error is that of the stream if it has one.
type rawContent struct {
	*tar.Reader
	raw *rawTar
}

// Read implements io.Reader.
func (c rawContent) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.raw.or(err)
	}
	return n, err
}

// tarMember describes a member of a tar.
func tarMember(h *tar.Header) container.Member {
	m := container.Member{Name: h.Name, Size: h.Size}
	switch h.Typeflag {
	case tar.TypeReg, '\x00', tar.TypeGNUSparse:
	case tar.TypeDir:
		m.Kind, m.Size = container.Folder, 0
	case tar.TypeSymlink:
		m.Kind, m.What = container.Link, "a symbolic link"
	case tar.TypeLink:
		m.Kind, m.What = container.Link, "a hard link"
	case tar.TypeChar, tar.TypeBlock:
		m.Kind, m.What = container.Special, "a device"
	case tar.TypeFifo:
		m.Kind, m.What = container.Special, "a pipe"
	default:
		m.Kind, m.What = container.Special, fmt.Sprintf("of the type %q", h.Typeflag)
	}
	return m
}
