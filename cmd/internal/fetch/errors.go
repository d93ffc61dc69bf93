package fetch

import (
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Codes of this package's errors.
const (
	CodeBadURL          domain.Code = "bad_url"          // not a URL that may be asked for
	CodeAddressRefused  domain.Code = "address_refused"  // the host's address is closed to the collection
	CodeRedirectRefused domain.Code = "redirect_refused" // a redirect that may not be followed, or too many
	CodeUnreachable     domain.Code = "unreachable"      // no connection, or it broke
	CodeHTTPStatus      domain.Code = "http_status"      // the server answered, but not with the file
	CodeTimeout         domain.Code = "timeout"          // a deadline passed
	CodeTooSlow         domain.Code = "too_slow"         // the body did not keep the minimum rate
	CodeTooLarge        domain.Code = "too_large"        // more bytes than allowed
	CodeCancelled       domain.Code = "cancelled"        // the caller's context ended
)

// Error is every error of this package.
type Error struct {
	Code    domain.Code
	Class   domain.Class
	URL     string // without user, password and query values
	Message string // what went wrong, in words
	Hint    string // what to do next, may be ""
	Status  int    // of the answer, 0 = none

	Temporary bool          // another attempt may help
	Ours      bool          // this machine lacks something, and no server was asked
	After     time.Duration // how long the server asks to wait before it, 0 = it does not say

	cause error
}

// Error returns the sentence for people. It does not show the cause, which may
// hold secrets or inner addresses.
func (e *Error) Error() string {
	s := e.Message
	if e.URL != "" {
		s = e.URL + ": " + s
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns the cause, for programs and for the operators' log: it may name
// the address behind a host name.
func (e *Error) Unwrap() error { return e.cause }

// Reason returns the error as the reason of a failure. Its host is that of URL.
func (e *Error) Reason() domain.Reason {
	return domain.Reason{Class: e.Class, Code: e.Code, Message: e.Error(), Host: Host(e.URL)}
}

// Ours reports whether an error is one of this package whose cause is this machine.
func Ours(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Ours
}

// Retry reports whether another attempt may help, and how long the server asks to
// wait before it (0 = it does not say).
func (e *Error) Retry() (again bool, after time.Duration) { return e.Temporary, e.After }

// content returns an error that the depositor must correct.
func content(code domain.Code, url, hint, format string, args ...any) *Error {
	return &Error{Code: code, Class: domain.ClassContent, URL: url, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// MayRetry reports whether another attempt may help against an error, and how long
// the server asks to wait before it (0 = it does not say). An error without a method
// Retry is final.
func MayRetry(err error) (again bool, after time.Duration) {
	var known interface{ Retry() (bool, time.Duration) }
	if errors.As(err, &known) {
		return known.Retry()
	}
	return false, 0
}
