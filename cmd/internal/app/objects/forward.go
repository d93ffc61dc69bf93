package objects

import (
	"errors"
	"io"
)

// Seeker returns the content as what may be read from any place on, once and forward.
func (c *Content) Seeker() io.ReadSeeker { return &forward{from: c, size: c.Size} }

// forward is a file that is read once, from its begin: seeking skips what is between.
type forward struct {
	from     io.Reader
	size     int64
	at, want int64
}

// Seek implements io.Seeker.
func (f *forward) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.want
	case io.SeekEnd:
		offset += f.size
	}
	f.want = offset
	return offset, nil
}

// Read implements io.Reader.
func (f *forward) Read(p []byte) (int, error) {
	if f.want < f.at {
		return 0, errors.New("a stored file is read from its begin to its end")
	}
	if _, err := io.CopyN(io.Discard, f.from, f.want-f.at); err != nil {
		return 0, err
	}
	n, err := f.from.Read(p)
	f.at = f.want + int64(n)
	f.want = f.at
	return n, err
}
