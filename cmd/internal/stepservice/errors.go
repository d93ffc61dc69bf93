package stepservice

import (
	"context"
	"encoding/base64"
	"encoding/json"
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
	CodeUnauthorized domain.Code = "service_unauthorized" // it does not take the credentials
	CodeRefused      domain.Code = "service_refused"      // it does not do the step
	CodeUnavailable  domain.Code = "service_unavailable"  // it cannot answer now
	CodeAnswer       domain.Code = "service_answer"       // its answer is none, or is about something else
)

// Error is every error of this package.
type Error struct {
	Code      domain.Code
	Class     domain.Class
	Message   string        // what went wrong, in the service's own words, and what to do
	Status    int           // of the answer, 0 = none
	Temporary bool          // asking again may help
	After     time.Duration // how long the service asks to wait before it, 0 = it does not say

	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Reason returns the error as the reason of a failed job.
func (e *Error) Reason() domain.Reason {
	return domain.Reason{Class: e.Class, Code: e.Code, Message: e.Message}
}

// Retry reports whether asking again may help, and how long the service asks to wait before
// it (0 = it does not say).
func (e *Error) Retry() (again bool, after time.Duration) { return e.Temporary, e.After }

// maxWords bounds what is told of an answer, in bytes.
const maxWords = 500

// words returns what a service says as it may be shown: plain, on one line, not too long, and
// without its password.
func (s Service) words(said string) string {
	if p := s.Credentials.Password; p != "" {
		account := base64.StdEncoding.EncodeToString([]byte(s.Credentials.User + ":" + p))
		said = strings.NewReplacer(p, "…", account, "…").Replace(said)
	}
	said = text.Line(strings.Join(strings.Fields(strings.ToValidUTF8(said, "\ufffd")), " "))
	if len(said) > maxWords {
		said = strings.ToValidUTF8(said[:maxWords], "") + "…"
	}
	return said
}

// shown returns how messages name the service.
func (s Service) shown() string {
	name := "the service of " + s.Field
	if u, err := url.Parse(s.URL); err == nil {
		name += " at " + u.Host
	}
	return name
}

// strange returns the error of an answer that no such service gives, or that is about
// something else than what was asked for.
func (s Service) strange(status int, why string) *Error {
	return &Error{Code: CodeAnswer, Class: domain.ClassSystem, Status: status, Message: fmt.Sprintf("%s answers %d with something else than what docs/services.md asks for (%s); correct the service, or the profile's %s",
		s.shown(), status, s.words(why), s.Field)}
}

// refused returns the error of an answer other than success.
func (s Service) refused(status int, header http.Header, said []byte) *Error {
	e := &Error{Code: CodeRefused, Class: domain.ClassSystem, Status: status}
	answered := fmt.Sprintf("%s answers %d %s", s.shown(), status, http.StatusText(status))
	if says := s.words(problem(said)); says != "" {
		answered += ": " + says
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Code, e.Message = CodeUnauthorized, answered+"; correct the line of the profile in service_credentials, or the rights of the account there"
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests || status >= 500,
		status == http.StatusConflict && header.Get("Retry-After") != "": // it works on an earlier request of the same key
		e.Code, e.Message, e.Temporary = CodeUnavailable, answered, true
		e.After = retryAfter(header.Get("Retry-After"), time.Now())
	case status == http.StatusConflict || status == http.StatusUnprocessableEntity:
		e.Class, e.Message = domain.ClassContent, answered+"; correct the object, or what the service has of it"
	default:
		e.Message = answered + "; see what it does not accept, or correct the profile's " + s.Field
	}
	return e
}

// problem returns the words of a problem document (RFC 9457), or the text itself.
func problem(said []byte) string {
	var p struct{ Title, Detail string }
	if err := json.Unmarshal(said, &p); err != nil || p.Title+p.Detail == "" {
		return string(said[:min(len(said), 2*maxWords)])
	}
	return strings.TrimPrefix(strings.TrimSuffix(p.Title+": "+p.Detail, ": "), ": ")
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

// unanswered returns the error of a request without an answer. Clients whose errors have Reason
// and Retry are believed; other errors show nothing. The address is the profile's, so the
// depositor is not to blame.
func (s Service) unanswered(ctx context.Context, err error) *Error {
	e := &Error{Code: CodeUnavailable, Class: domain.ClassSystem, Temporary: true, cause: err,
		Message: s.shown() + " does not answer; see whether the profile's " + s.Field + " can be reached"}
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
		if r.Class != domain.ClassContent {
			e.Class = r.Class
		}
		e.Temporary, e.After = known.Retry()
	case ctx.Err() != nil:
		e.Class, e.Temporary, e.Message = domain.ClassCancelled, false, s.shown()+": cancelled"
		e.Code, e.cause = "cancelled", context.Cause(ctx)
	}
	return e
}
