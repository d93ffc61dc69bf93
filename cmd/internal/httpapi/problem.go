package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/ratelimit"
	"github.com/accession-ingest/accession/domain/access"
)

// Problem is the answer to a request that failed, by RFC 9457.
type Problem struct {
	Title  string `json:"title" doc:"Kind of the problem in words"`
	Status int    `json:"status" doc:"HTTP status"`
	Detail string `json:"detail" doc:"What is wrong"`
	Code   string `json:"code" doc:"Kind of the problem for programs: the kinds of errors of the command line"`
	Hint   string `json:"hint,omitempty" doc:"What to do about it"`
	Exit   int    `json:"exit" doc:"Exit code of the command line for this code"`
	// Request names the request in the log of the service.
	Request string `json:"request,omitempty" doc:"Id of the request, which the service's log has too"`

	retryAfter int // seconds, 0 = not said
	limit      access.Limit
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
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	ratelimit.Set(h, p.limit)
	return h
}

// Statuses is the HTTP status of each kind of error.
var Statuses = map[app.Kind]int{
	app.Invalid: http.StatusBadRequest, app.Unauthenticated: http.StatusUnauthorized, app.Forbidden: http.StatusForbidden,
	app.NotFound: http.StatusNotFound, app.Refused: http.StatusConflict, app.Outdated: http.StatusPreconditionFailed, app.KeyReused: http.StatusUnprocessableEntity,
	app.Full: http.StatusTooManyRequests, app.IntakeClosed: http.StatusServiceUnavailable, app.Unavailable: http.StatusServiceUnavailable, app.Lost: http.StatusServiceUnavailable,
	app.Interrupted: http.StatusServiceUnavailable, app.Failed: http.StatusInternalServerError,
}

// inner are the kinds of error whose texts name servers and paths, which are for the log.
var inner = map[app.Kind]string{
	app.Unavailable: "a server that is needed does not answer", app.Lost: "a server has lost its data, which operators must restore",
	app.Interrupted: "the service is stopping", app.Failed: "the request failed for a reason that is in the service's log",
}

// problemOf returns the answer to a request that failed.
func problemOf(err error, request string) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	e, ok := errors.AsType[*app.Error](err)
	if !ok {
		e = &app.Error{Kind: app.Failed, Err: err}
	}
	p := &Problem{Status: Statuses[e.Kind], Code: string(e.Kind), Hint: e.Hint, Request: request, retryAfter: int(e.RetryAfter.Seconds())}
	if beyond, ok := errors.AsType[*access.Exceeded](err); ok {
		p.limit = beyond.Limit
	}
	p.Title, p.Exit = http.StatusText(p.Status), app.ExitCodes[e.Kind]
	if text, hidden := inner[e.Kind]; hidden {
		p.Detail, p.Hint = text, "try again later; operators find the cause by the id of the request"
		if p.Status == http.StatusServiceUnavailable {
			p.retryAfter = 10
		}
		return p
	}
	p.Detail = strings.TrimPrefix(e.Error(), ": ")
	if e.Kind == app.Full && p.retryAfter == 0 {
		p.retryAfter = 60
	}
	return p
}

// refuse answers a request that no operation has seen.
func refuse(w http.ResponseWriter, p *Problem) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = writeJSON(w, p) // the client is gone
}

// codes are the codes of problems that the library finds.
var codes = map[int]app.Kind{http.StatusNotFound: app.NotFound, http.StatusMethodNotAllowed: app.Invalid, http.StatusRequestEntityTooLarge: app.Invalid,
	http.StatusRequestTimeout: app.Interrupted, http.StatusInternalServerError: app.Failed}

// kindOf returns the kind of a problem that no use case has found.
func kindOf(status int) app.Kind {
	kind, found := codes[status]
	switch {
	case found:
		return kind
	case status >= http.StatusInternalServerError:
		return app.Failed
	case status == http.StatusConflict || status == http.StatusLocked:
		return app.Refused
	}
	return app.Invalid
}

// problems makes the library answer with our problems. It is one setting for the program.
var problems = sync.OnceFunc(func() {
	huma.NewError = func(status int, text string, faults ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity {
			status = http.StatusBadRequest
		}
		words := []string{text}
		for _, fault := range faults {
			if d, ok := errors.AsType[*huma.ErrorDetail](fault); ok {
				words = append(words, d.Message+" ("+d.Location+")") // without the value, which may be a password
			} else if fault != nil {
				words = append(words, fault.Error())
			}
		}
		code := kindOf(status)
		p := &Problem{Title: http.StatusText(status), Status: status, Code: string(code), Exit: app.ExitCodes[code], Detail: strings.Join(words, ": ")}
		if code == app.Failed {
			p.Detail = inner[app.Failed]
		}
		return p
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, text string, faults ...error) huma.StatusError {
		err := huma.NewError(status, text, faults...)
		if p, ok := errors.AsType[*Problem](err); ok {
			p.Request = requestID(ctx.Context())
		}
		return err
	}
})

type contextKey string

const (
	keyRequest contextKey = "request"
	keyCaller  contextKey = "caller"
	keyFrom    contextKey = "from"
)

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(keyRequest).(string)
	return id
}
