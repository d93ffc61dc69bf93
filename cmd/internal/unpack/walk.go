package unpack

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/accession-ingest/accession/domain/container"
)

// member is a member of a container that is being read.
type member struct {
	container.Member
	walk *walker
	open func() (io.ReadCloser, error)
}

// walker is one reading of a container.
type walker struct {
	ctx    context.Context //nolint:containedctx // that of the reading
	c      Container
	limits container.Limits
	most   int64 // bytes that may be unpacked
	n      int64 // bytes that were
}

// walk reads a container from its beginning to its end, and hands out its members.
func walk(ctx context.Context, c Container, limits container.Limits, take func(member) error) (container.Format, error) {
	w := &walker{ctx: ctx, c: c, limits: limits, most: limits.MaxBytes(c.Size)}
	head := make([]byte, container.HeadBytes)
	n, err := io.ReadFull(io.NewSectionReader(c.Data, 0, c.Size), head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", &readError{err}
	}
	format, err := container.Detect(head[:n])
	if err != nil {
		return format, err
	}
	if format == container.Zip {
		return format, w.zip(take)
	}
	return format, w.tar(format, take)
}

// readError is the error of the container's file on disk, not of what is in it.
type readError struct{ error }

// Unwrap returns the cause.
func (e *readError) Unwrap() error { return e.error }

// at reads the container on disk, and ends with the context.
type at struct {
	*walker
	left *int64 // bytes that may be read, nil = all
}

// errLeft is the error of a reading that has had its bytes.
var errLeft = errors.New("it has had its bytes")

// ReadAt implements io.ReaderAt.
func (a at) ReadAt(p []byte, off int64) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, &readError{err}
	}
	if a.left != nil {
		if *a.left -= int64(len(p)); *a.left < 0 {
			return 0, errLeft
		}
	}
	if off < 0 { // a damaged container leads there
		return 0, io.ErrUnexpectedEOF
	}
	n, err := a.c.Data.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}

// stream returns the bytes of the container from its beginning.
func (w *walker) stream() io.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(at{walker: w}, 0, w.c.Size), 1<<18)
}

// copy reads the content of a file to its end, and returns how many bytes it has.
func (m member) copy(to io.Writer) (n int64, err error) {
	err = m.read(func(r io.Reader) error {
		n, err = io.Copy(to, r)
		return err
	})
	return n, err
}

// read hands the content of a file to a function, which reads it to its end.
func (m member) read(take func(io.Reader) error) error {
	r, err := m.open()
	if err != nil {
		return m.walk.fault(m.Name, &formatError{err})
	}
	content := &counted{r, m}
	err = take(content)
	if err == nil {
		_, err = io.Copy(io.Discard, content) // what is left, so that its checksum is compared
	}
	_ = r.Close()
	if err != nil {
		return m.walk.fault(m.Name, err)
	}
	return nil
}

// counted is the content of a file, which ends at the limits.
type counted struct {
	io.Reader
	m member
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	w := c.m.walk
	if w.n += int64(n); w.n > w.most {
		return 0, container.NewChecker("", w.c.Size, w.limits).Limit(c.m.Name, w.n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = &formatError{err}
	}
	return n, err
}

// formatError is an error of what is in the container, not of those who take it.
type formatError struct{ error }

// Unwrap returns the cause.
func (e *formatError) Unwrap() error { return e.error }

// fault returns the error about a member, "" = the container, for an error in reading it.
func (w *walker) fault(member string, err error) error {
	var known *container.Error
	var disk *readError
	var format *formatError
	var after *afterError
	switch {
	case err == nil:
		return nil
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case errors.As(err, &known):
		return known
	case errors.As(err, &disk):
		return disk.error
	case !errors.As(err, &format):
		return err
	}
	if errors.As(err, &after) && after.member != "" {
		return container.Fault(container.CodeUnreadable, after.member, "is followed by what cannot be read: %v; %s", cause(format.error), remedy)
	}
	return unreadable(member, format.error)
}

// afterError is an error of what follows a member, "" = of the first.
type afterError struct {
	member string
	error
}

// Unwrap returns the cause.
func (e *afterError) Unwrap() error { return e.error }

// remedy is what the depositor can do about a container that cannot be read.
const remedy = "send it again, or make it again"

// cause returns an error of a format in words.
func cause(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("it is cut off")
	}
	return err
}

// unreadable returns the error about a member that cannot be read, "" = the container.
func unreadable(name string, err error) error {
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return container.Fault(container.CodeChecksum, name, "has another checksum than the container says: %s", remedy)
	case name == "":
		return container.Fault(container.CodeUnreadable, "", "the container cannot be read to its end: %v; %s", cause(err), remedy)
	}
	return container.Fault(container.CodeUnreadable, name, "cannot be read: %v; %s", cause(err), remedy)
}
