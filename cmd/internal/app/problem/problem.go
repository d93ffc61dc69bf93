// Package problem describes what went wrong to programs, by RFC 9457: the answer of the
// service to a request that failed, and what a command that failed writes with -o json.
package problem

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/ratelimit"
	"github.com/accession-ingest/accession/domain/access"
)

// Problem is why a request or a command failed.
type Problem struct {
	Title  string `json:"title" doc:"Kind of the problem in words"`
	Status int    `json:"status" doc:"HTTP status"`
	Detail string `json:"detail" doc:"What is wrong"`
	Code   string `json:"code" doc:"Kind of the problem for programs: the kinds of errors of the command line"`
	Hint   string `json:"hint,omitempty" doc:"What to do about it"`
	Exit   int    `json:"exit" doc:"Exit code of the command line for this code"`
	// Request names the request in the log of the service.
	Request string `json:"request,omitempty" doc:"Id of the request, which the service's log has too"`

	RetryAfter int          `json:"-"` // seconds, 0 = not said
	Limit      access.Limit `json:"-"` // that was exceeded, if one was
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (*Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	ratelimit.Set(h, p.Limit)
	return h
}

// Statuses is the HTTP status of each kind of error.
var Statuses = map[app.Kind]int{
	app.Invalid: http.StatusBadRequest, app.Unauthenticated: http.StatusUnauthorized, app.Forbidden: http.StatusForbidden,
	app.NotFound: http.StatusNotFound, app.Gone: http.StatusGone, app.Refused: http.StatusConflict, app.Outdated: http.StatusPreconditionFailed, app.KeyReused: http.StatusUnprocessableEntity,
	app.Full: http.StatusTooManyRequests, app.IntakeClosed: http.StatusServiceUnavailable, app.Unavailable: http.StatusServiceUnavailable, app.Lost: http.StatusServiceUnavailable,
	app.Interrupted: http.StatusServiceUnavailable, app.Failed: http.StatusInternalServerError,
}

// inner are the kinds of error whose texts name servers and paths, which are for the log.
var inner = map[app.Kind]string{
	app.Unavailable: "a server that is needed does not answer", app.Lost: "a server has lost its data, which operators must restore",
	app.Interrupted: "the service is stopping", app.Failed: "the request failed for a reason that is in the service's log",
}

// Inner returns what a caller over HTTP is told of an error of this kind in place of its text,
// "" = the text is for the caller.
func Inner(kind app.Kind) string { return inner[kind] }

// Of returns the problem of an error of this kind.
func Of(kind app.Kind, detail, hint string) *Problem {
	status := Statuses[kind]
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail, Code: string(kind), Hint: hint, Exit: app.ExitCodes[kind]}
}

// ForCaller returns the answer to the request of this id, which failed. What is for the log it
// does not say.
func ForCaller(err error, request string) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	e, ok := errors.AsType[*app.Error](err)
	if !ok {
		e = &app.Error{Kind: app.Failed, Err: err}
	}
	p := Of(e.Kind, strings.TrimPrefix(e.Error(), ": "), e.Hint)
	p.Request, p.RetryAfter = request, int(e.RetryAfter.Seconds())
	if beyond, ok := errors.AsType[*access.Exceeded](err); ok {
		p.Limit = beyond.Limit
	}
	if text := inner[e.Kind]; text != "" {
		p.Detail, p.Hint = text, "try again later; operators find the cause by the id of the request"
		if p.Status == http.StatusServiceUnavailable {
			p.RetryAfter = 10
		}
	} else if e.Kind == app.Full {
		p.RetryAfter = cmp.Or(p.RetryAfter, 60)
	}
	return p
}
