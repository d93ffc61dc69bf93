package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

// Codes of this package's errors. A request that got no answer has the code of the client that
// sent it, such as address_refused or timeout.
const (
	CodeNoCredentials domain.Code = "minter_credentials_missing" // the settings have none for the profile
	CodeUnauthorized  domain.Code = "minter_unauthorized"        // it does not take the credentials, or not for such names
	CodeRefused       domain.Code = "minter_refused"             // it does not make the identifier
	CodeUnavailable   domain.Code = "minter_unavailable"         // it cannot answer now
	CodeTaken         domain.Code = "minter_identifier_taken"    // it has the identifier, made for another
	CodeAnswer        domain.Code = "minter_answer"              // what answers is no such service
)

// Error is every error of this package.
type Error struct {
	Code      domain.Code
	Message   string        // what went wrong, in the service's own words, and what to do
	Status    int           // of the answer, 0 = none
	Temporary bool          // asking again may help
	After     time.Duration // how long the service asks to wait before it, 0 = it does not say

	class domain.Class // "" = system
	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Reason returns the error as the reason of a failed job: the operators' to correct.
func (e *Error) Reason() domain.Reason {
	class := domain.ClassSystem
	if e.class != "" {
		class = e.class
	}
	return domain.Reason{Class: class, Code: e.Code, Message: e.Message}
}

// Retry reports whether asking again may help, and how long the service asks to wait before
// it (0 = it does not say).
func (e *Error) Retry() (again bool, after time.Duration) { return e.Temporary, e.After }

// maxWords bounds what is told of an answer, in bytes.
const maxWords = 500

// words returns what a service says as it may be shown: plain, on one line, not too long.
func words(s string) string {
	s = strings.Join(strings.Fields(text.Line(strings.ToValidUTF8(s, "\ufffd"))), " ")
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

// refused returns the error of an answer other than success, which says so much.
func (s Service) refused(status int, header http.Header, says string) *Error {
	e := &Error{Code: CodeRefused, Status: status}
	answered := fmt.Sprintf("%s answers %d %s", s.shown(), status, http.StatusText(status))
	if says = words(says); says != "" {
		answered += ": " + says
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Code, e.Message = CodeUnauthorized, answered+"; correct the line of the profile in minter_credentials, or the rights of the account there"
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests || status >= 500:
		e.Code, e.Message, e.Temporary = CodeUnavailable, answered, true
		e.After = retryAfter(header.Get("Retry-After"), time.Now())
	default:
		e.Message = answered + "; see what it does not accept, or correct the profile's identifier"
	}
	return e
}

// retryAfter parses a Retry-After header: seconds, or a date. 0 = none or past.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// strange returns the error of an answer that no such service gives.
func (s Service) strange(status int, why string) *Error {
	return &Error{Code: CodeAnswer, Status: status, Message: fmt.Sprintf("%s answers %d with something else than an identifier (%s); correct the profile's identifier.url",
		s.shown(), status, words(why))}
}

// unanswered returns the error of a request without an answer. Clients whose errors have Reason
// and Retry are believed; other errors show nothing.
func (s Service) unanswered(ctx context.Context, err error) *Error {
	e := &Error{Code: CodeUnavailable, Temporary: true, cause: err, Message: s.shown() + " does not answer; see whether the profile's identifier.url can be reached"}
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		e.cause = outer.Err
	}
	var known interface {
		Reason() domain.Reason
		Retry() (bool, time.Duration)
	}
	switch {
	case errors.As(err, &known):
		r := known.Reason()
		e.Code, e.Message = r.Code, s.shown()+": "+r.Message
		e.Temporary, e.After = known.Retry()
	case ctx.Err() != nil:
		e.class, e.Temporary, e.Message = domain.ClassCancelled, false, s.shown()+": cancelled"
		e.Code, e.cause = "cancelled", context.Cause(ctx)
	}
	return e
}
