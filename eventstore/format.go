package eventstore

import "fmt"

// FormatNow is the format of tree and log that this program reads and writes. A program
// that changes what is claimed how, or what an older one would misread, raises it. Since
// format 2 the log has events in structured mode, and the tree keeps jobs that have left
// their queue in few nodes; older programs can read neither. Since format 3 deposits wait
// in rings.
const FormatNow = 3

// Format says which formats a program must know to serve a tree or a log. The zero
// value stands for the first format, which was not written down.
type Format struct {
	Reads  int `json:"reads"`  // to read it
	Writes int `json:"writes"` // to write to it
}

// Check returns a [*FormatError] if this program cannot serve what has this format;
// where names it.
func (f Format) Check(where string) error {
	if max(f.Reads, f.Writes) > FormatNow {
		return &FormatError{Where: where, Format: f}
	}
	return nil
}

// Compact reports whether jobs that have left their queue are kept in few nodes.
func (f Format) Compact() bool { return f.Writes >= 2 }

// Rings reports whether new deposits wait in deposit queues until they are grabbed.
func (f Format) Rings() bool { return f.Writes >= 3 }

// FormatError reports a tree or a log that a newer program has changed so that this one
// cannot serve it. It is ErrBroken.
type FormatError struct {
	Where  string
	Format Format
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%s needs a program that reads format %d and writes format %d, and this one knows format %d: a newer program has changed it",
		e.Where, max(e.Format.Reads, 1), max(e.Format.Writes, 1), FormatNow)
}

// Unwrap makes it ErrBroken.
func (e *FormatError) Unwrap() error { return ErrBroken }
