package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"gocloud.dev/gcerrors"
)

// Code is a stable word for what went wrong.
type Code string

// The codes of this package.
const (
	CodeNotFound  Code = "not_found"     // no such object, version or directory
	CodeConflict  Code = "conflict"      // something else is there already
	CodeMismatch  Code = "mismatch"      // size or digest is not what was promised
	CodeChanged   Code = "changed"       // what was to be stored is not what was promised
	CodeTooMany   Code = "too_many"      // there is no place for one more
	CodeBadKey    Code = "bad_key"       // not a key of this store
	CodeBadName   Code = "bad_name"      // a file name that the name rule refuses
	CodeDiskFull  Code = "disk_full"     // no space or quota left
	CodeCancelled Code = "cancelled"     // the context ended
	CodeBroken    Code = "storage_error" // anything else: the storage itself fails
)

// Error is every error of this package.
type Error struct {
	Code Code
	Op   string // what was being done, such as put
	Key  string // key or path it was done to
	Hint string // what is wrong in words, or what to do next
	Err  error  // cause, may be nil
}

// Error returns operation, object, cause and remedy.
func (e *Error) Error() string {
	s := fmt.Sprintf("store: %s %q: %s", e.Op, e.Key, e.Code)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Public returns the error for those who do not run the installation: without key, path
// and cause, and with its code in words.
func (e *Error) Public() string {
	s := fmt.Sprintf("our storage could not %s: %s", e.Op, cmp.Or(words[e.Code], string(e.Code)))
	if hint := hints[e.Code]; hint != "" {
		s += " (" + hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of err, CodeBroken for an error of another kind and ""
// for nil.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	default:
		return CodeBroken
	}
}

// words are the codes as sentences.
var words = map[Code]string{
	CodeNotFound:  "there is no such file",
	CodeConflict:  "something else is there already",
	CodeMismatch:  "size or digest is not what was promised",
	CodeChanged:   "what was to be stored was changed",
	CodeTooMany:   "there are too many",
	CodeBadKey:    "the key is not one of this store",
	CodeBadName:   "the file name is not allowed",
	CodeDiskFull:  "no space left on device",
	CodeCancelled: "it was interrupted",
	CodeBroken:    "the storage itself failed",
}

var hints = map[Code]string{
	CodeDiskFull: "free space or raise the quota where the store lives; the work can be tried again",
	CodeBroken:   "look at the storage behind the store; the work can be tried again",
}

// wrap turns an error of a driver or of the system into an *Error; nil stays nil
// and an *Error stays as it is.
func wrap(op, key string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	code := CodeBroken
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code = CodeDiskFull
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		code = CodeCancelled
	case errors.Is(err, fs.ErrNotExist), gcerrors.Code(err) == gcerrors.NotFound:
		code = CodeNotFound
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY),
		gcerrors.Code(err) == gcerrors.FailedPrecondition:
		code = CodeConflict
	}
	return &Error{Code: code, Op: op, Key: key, Hint: hints[code], Err: err}
}
