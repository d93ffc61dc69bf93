package metadata

import (
	"bufio"
	"errors"
	"io"
)

// source is the reader of the XML decoder, which takes byte by byte: it ends the reading
// where a bound is exceeded, before more is kept.
type source struct {
	r    *bufio.Reader
	most int64 // bytes of the file
	n    int64
	mark int64 // where the token that is read began
	line int
}

func newSource(r io.Reader, most int64) *source {
	s := &source{r: bufio.NewReader(r), most: most, line: 1}
	if head, _ := s.r.Peek(len(mark)); string(head) == mark { // what keeps it from being read comes up again
		_, _ = s.r.Discard(len(mark))
	}
	return s
}

// mark is the byte order mark of UTF-8.
const mark = "\ufeff"

// ReadByte implements io.ByteReader.
func (s *source) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	switch {
	case err != nil:
		return 0, err
	case s.n >= s.most:
		return 0, fault(s.line, TooLarge, "the file has more than %d bytes: split it", s.most)
	case s.n-s.mark >= MaxText:
		return 0, fault(s.line, TextTooLong, "a tag or text has more than %d bytes: shorten it", MaxText)
	}
	s.n++
	if b == '\n' {
		s.line++
	}
	return b, nil
}

// Read implements io.Reader, which the decoder does not call.
func (s *source) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
