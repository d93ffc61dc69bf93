package follow

import (
	"errors"
	"fmt"
)

// Errors that end a loop, besides that of its context; test with errors.Is. An [*Error]
// has the position.
var (
	// ErrStream: the stream is not the log that was followed. Find out what was
	// done to the server; then begin at the start, and leave out by their IDs the
	// events that were dealt with.
	ErrStream = errors.New("not the log that was followed")
	// ErrOrder: events are missing, or one came twice.
	ErrOrder = errors.New("events are missing or out of order")
	// ErrUnreadable: a newer program has written the event, or a program that is none
	// of ours. The Position of the error is after the event, so that a program can
	// continue.
	ErrUnreadable = errors.New("the event cannot be read")
)

// Error says where one of the three happened.
type Error struct {
	Err      error
	Stream   string
	Position Position // of the event in question
	Text     string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("stream %s, sequence %d: %v: %s", e.Stream, e.Position.Seq, e.Err, e.Text)
}

// Unwrap returns one of the three.
func (e *Error) Unwrap() error { return e.Err }
