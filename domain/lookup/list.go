package lookup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Bounds of a list.
const (
	MaxLines = 100_000
	MaxBytes = 64 << 20
)

// bom is the mark with which some editors begin a file.
const bom = "\ufeff"

// Lines yields the lines of a list that ask for something, one after the other. A list
// that is too large, or of which reading fails, ends with an error that names the line.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		list := reading{from: bufio.NewReaderSize(r, 4*MaxIdentifier)}
		for {
			raw, long, err := list.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Line{}, err)
				}
				return
			}
			line, asks := Parse(list.number, raw)
			if long {
				line = Line{Number: list.number, Text: line.Text, Fault: tooLong().Error()}
			}
			if (asks || long) && !yield(line, nil) {
				return
			}
		}
	}
}

// reading is a list being read.
type reading struct {
	from   *bufio.Reader
	number int
	bytes  int64
}

// next returns the next line; long says that its end was left out.
func (l *reading) next() (line string, long bool, err error) {
	l.number++
	part, err := l.part()
	if errors.Is(err, io.EOF) && len(part) == 0 {
		return "", false, io.EOF
	}
	line = string(part)
	if l.number == 1 && len(line) >= len(bom) && line[:len(bom)] == bom {
		line = line[len(bom):]
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		long = true
		_, err = l.part()
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", false, fmt.Errorf("line %d: %w", l.number, err)
	case l.number > MaxLines:
		return "", false, fmt.Errorf("line %d: %w: a list may have %d lines; divide it", l.number, ErrTooLarge, MaxLines)
	}
	return line, long, nil
}

// part reads up to the end of a line or of the buffer.
func (l *reading) part() ([]byte, error) {
	part, err := l.from.ReadSlice('\n')
	if l.bytes += int64(len(part)); l.bytes > MaxBytes {
		return nil, fmt.Errorf("%w: a list may have %d bytes; divide it", ErrTooLarge, MaxBytes)
	}
	return part, err
}

// Counts counts the lines of a list that ask for something, and the wrong ones of them.
type Counts struct {
	Lines int `json:"lines"`
	Wrong int `json:"wrong"`
}

// Check reads a list to its end and counts its lines. ErrEmpty: there are none.
func Check(r io.Reader) (c Counts, err error) {
	for line, err := range Lines(r) {
		if err != nil {
			return c, err
		}
		c.Lines++
		if line.Fault != "" {
			c.Wrong++
		}
	}
	if c.Lines == 0 {
		return c, ErrEmpty
	}
	return c, nil
}
