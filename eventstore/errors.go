package eventstore

import (
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// A write that fails returns one of four errors: *domain.Refused, or one of these
// three. Test with errors.Is.
var (
	// ErrConflict: what the decision was based on has changed; nothing was
	// written. Load again and decide again.
	ErrConflict = errors.New("changed by another process in the meantime")
	// ErrUnknown: the outcome could not be found out before the context ended.
	// The command may have been written; asking again with the same command id is
	// safe.
	ErrUnknown = errors.New("the outcome is unknown")
	// ErrRingInUse: a deposit queue is written all the time.
	ErrRingInUse = errors.New("the deposit queue is in use all the time")
	// ErrBroken: a server answers in a way that no retry mends.
	ErrBroken = codec.ErrBroken
)

// More specific errors. For errors.Is each of them is also ErrConflict.
var (
	// ErrNotFound: there is no such aggregate (ErrConflict for a writer).
	ErrNotFound = fmt.Errorf("not found: %w", ErrConflict)
	// ErrFenced: the worker's session or claim has ended; its work must stop.
	ErrFenced = fmt.Errorf("the claim is lost: %w", ErrConflict)
	// ErrLocked: another worker holds the lock.
	ErrLocked = fmt.Errorf("locked: %w", ErrConflict)
	// ErrFull: a limit of the live state is reached; try again later.
	ErrFull = fmt.Errorf("full: %w", ErrConflict)
)

// ErrOtherProfiles says that a profile was set or removed since the profiles were read with
// which a change was compared.
var ErrOtherProfiles = errors.New("another profile was set meanwhile")

// ErrRepeated says that the same claim of an entry has taken one meanwhile; nothing was taken.
var ErrRepeated = errors.New("the same claim was sent before")

// ErrOutdated says that a command was for another version than the present one, see
// [Meta.IfVersion]; nothing was written.
var ErrOutdated = errors.New("changed since it was read")

// ErrRestoring says that a restore of the live state or of the log has begun and has not
// ended. For errors.Is it is also ErrBroken.
var ErrRestoring = fmt.Errorf("not restored yet: %w", ErrBroken)

// Error is one of the errors above, with what was done to which aggregate.
type Error struct {
	Op        string
	Aggregate domain.Aggregate
	Err       error
	Hint      string // the remedy: what can be done, "" = nothing to say
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Op
	if e.Aggregate.ID != "" {
		s += " " + e.Aggregate.String()
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
