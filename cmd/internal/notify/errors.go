package notify

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Codes of this package's errors. A callback that did not get through has the
// code of the client that sent it, such as address_refused or too_slow.
const (
	CodeCallbackInvalid domain.Code = "callback_invalid" // no request can be made of URL, key or body
	CodeCallbackFailed  domain.Code = "callback_failed"  // no answer, and the client does not say why
	CodeHTTPStatus      domain.Code = "http_status"      // the receiver answered, but did not accept
	CodeTimeout         domain.Code = "timeout"          // a deadline passed
	CodeCancelled       domain.Code = "cancelled"        // the caller's context ended
	CodeMailInvalid     domain.Code = "mail_invalid"     // a mail that may not be written
	CodeMailDrop        domain.Code = "mail_drop"        // the drop directory cannot be written
	CodeMailServer      domain.Code = "mail_server"      // no mail gets through to the mail server
)

// Error is every error of this package.
type Error struct {
	Code      domain.Code
	Class     domain.Class
	Message   string        // what went wrong and what to do, for people
	Status    int           // of the answer, 0 = none
	Temporary bool          // sending again may help
	After     time.Duration // how long the receiver asks to wait before it, 0 = it does not say

	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Reason returns the error as the reason of a failure.
func (e *Error) Reason() domain.Reason {
	return domain.Reason{Class: e.Class, Code: e.Code, Message: e.Message}
}

// Retry reports whether sending again may help, and how long the receiver asks to
// wait before it (0 = it does not say).
func (e *Error) Retry() (again bool, after time.Duration) { return e.Temporary, e.After }

// unsent returns the error of a callback that got no answer. Clients whose errors have Reason
// and Retry are believed; other errors show nothing, for their text may hold the
// URL with its secrets.
func unsent(ctx context.Context, err error) *Error {
	e := &Error{Code: CodeCallbackFailed, Class: domain.ClassSystem, Temporary: true, cause: err,
		Message: "callback: no answer; see whether the profile's callback URL can be reached"}
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
		e.Code, e.Class, e.Message = r.Code, r.Class, "callback: "+r.Message
		e.Temporary, e.After = known.Retry()
		if e.Class == domain.ClassContent {
			e.Class = domain.ClassSystem // the URL is the profile's, not the depositor's
		}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		e.Code, e.Class, e.Temporary, e.Message = CodeTimeout, domain.ClassTimeout, false, "callback: the time for this work is used up"
	case ctx.Err() != nil:
		e.Code, e.Class, e.Temporary, e.Message = CodeCancelled, domain.ClassCancelled, false, "callback: cancelled"
		e.cause = context.Cause(ctx)
	}
	return e
}
