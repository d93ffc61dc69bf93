package store

import (
	"context"
	"errors"
	"io"
)

// Checked reads an object whose size and digest are known, and compares them on the way: at
// its end the error is io.EOF if the object is what it should be, and otherwise
// CodeMismatch. What was read before is not to be used then.
type Checked struct {
	ctx  context.Context
	want Blob
	from io.ReadCloser
	m    *meter
	end  error // what ended the object, nil = not at its end
}

// GetChecked begins to read an object. The caller closes it. CodeMismatch: it is not there,
// or has another size.
func (s *Store) GetChecked(ctx context.Context, want Blob) (*Checked, error) {
	info, err := s.Stat(ctx, want.Key)
	switch {
	case CodeOf(err) == CodeNotFound:
		return nil, &Error{Code: CodeMismatch, Op: "get", Key: want.Key, Hint: "it is missing: restore it from a copy of the store", Err: err}
	case err != nil:
		return nil, err
	case info.Size != want.Size:
		return nil, Blob{Size: info.Size}.check(&want)
	}
	from, err := s.Get(ctx, want.Key)
	if err != nil {
		return nil, err
	}
	return &Checked{ctx: ctx, want: want, from: from, m: newMeter()}, nil
}

// Read implements io.Reader.
func (c *Checked) Read(p []byte) (n int, err error) {
	if c.end != nil || len(p) == 0 {
		return 0, c.end
	}
	if err := c.ctx.Err(); err != nil {
		return 0, wrap("get", c.want.Key, err)
	}
	n, err = c.from.Read(p)
	_, _ = c.m.Write(p[:n]) // never fails
	if errors.Is(err, io.EOF) {
		if err = c.m.blob(c.want.Key).check(&c.want); err == nil {
			err = io.EOF
		}
		c.end = err
		return n, err
	}
	return n, wrap("get", c.want.Key, err)
}

// Close frees what reading takes.
func (c *Checked) Close() error { return c.from.Close() }
