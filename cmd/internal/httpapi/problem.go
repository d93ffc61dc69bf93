package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
)

// Problem is the answer to a request that failed, by RFC 9457.
type Problem = problem.Problem

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
			p.Detail = problem.Inner(app.Failed)
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
