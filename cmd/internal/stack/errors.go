package stack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrLocked is what Start and Remove answer when a stack runs in the directory.
var ErrLocked = errors.New("another stack runs in this directory")

// ServerError tells which server failed, in which step, and what it said last.
type ServerError struct {
	Server Server
	Op     string // prepare, start, run, stop, kill
	Err    error
	Log    string // path of its whole log
	Tail   string // the last lines of Log
}

func (e *ServerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stack: %s %s: %v", e.Op, e.Server, e.Err)
	if e.Tail != "" {
		fmt.Fprintf(&b, "\n  end of %s:\n    %s", e.Log, strings.ReplaceAll(e.Tail, "\n", "\n    "))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// Shown of a log in an error: enough for a Java stack trace's head.
const (
	tailBytes = 4096
	tailLines = 15
)

// tail returns the last lines of a log file, "" when there are none.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return ""
	}
	if i := bytes.IndexByte(data, '\n'); from > 0 && i >= 0 {
		data = data[i+1:]
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
