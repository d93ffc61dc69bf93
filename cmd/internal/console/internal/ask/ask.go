// Package ask has the API answer what pages need, in the same process: each request is sent for who
// has sent the one to the page, with the same rights, limits and audit.
package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Visit is a request of a page.
type Visit struct {
	*http.Request
	API  http.Handler
	Self people.Self // who has sent it, empty = it is not known
}

// Answer is the answer to a request that a page sends to the API in its own process. Its zero value
// takes one.
type Answer struct {
	header http.Header
	Status int
	Body   bytes.Buffer
	of     http.ResponseWriter // whose connection the body of the request comes from, nil = it has none
}

// Unwrap makes the deadlines of the connection work.
func (a *Answer) Unwrap() http.ResponseWriter { return a.of }

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
	}
}

// Write implements http.ResponseWriter.
func (a *Answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.Body.Write(p)
}

// address returns the path of an operation with what it names.
func address(op *operation.Operation, names []string) string {
	path := op.Path
	for _, name := range names {
		before, rest, _ := strings.Cut(path, "{")
		_, after, ok := strings.Cut(rest, "}")
		if !ok {
			panic("operation " + op.Name + " names nothing") // a fault of the caller, which a test finds
		}
		path = before + url.PathEscape(name) + after
	}
	return path
}

// Operation returns a request of an operation with what its path names, for who has sent the one to
// the page.
func (v *Visit) Operation(name string, query url.Values, names ...string) (*http.Request, error) {
	op := operation.Named(name)
	r, err := http.NewRequestWithContext(v.Context(), op.Method, address(op, names)+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Host, r.RemoteAddr = v.Host, v.RemoteAddr
	return r, nil
}

// ErrCutOff is the error of an answer that has begun and not come to its end.
var ErrCutOff = errors.New("the answer was cut off")

// From has the API answer a request: the page lives on where its answer is cut off.
func From(api http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch fault := recover(); fault {
		case nil:
		case http.ErrAbortHandler:
			err = ErrCutOff
		default:
			panic(fault)
		}
	}()
	api.ServeHTTP(w, r)
	return nil
}

// For sends a request and decodes its answer. The error is the problem that the API describes.
func For[O any](api http.Handler, r *http.Request) (O, error) { return WithBodyOf[O](api, r, nil) }

// WithBodyOf is For with a body that comes from the connection of w.
func WithBodyOf[O any](api http.Handler, r *http.Request, w http.ResponseWriter) (out O, err error) {
	a := &Answer{of: w}
	if err := From(api, a, r); err != nil {
		return out, err
	}
	if a.Status >= http.StatusMultipleChoices {
		return out, Problem(a)
	}
	err = json.Unmarshal(a.Body.Bytes(), &out)
	return out, err
}

// Get returns the answer of an operation that reads.
func Get[O any](v *Visit, name string, query url.Values, names ...string) (out O, err error) {
	r, err := v.Operation(name, query, names...)
	if err != nil {
		return out, err
	}
	return For[O](v.API, r)
}

// Parameters returns those of a page that its operation takes as they are: all but those of the
// page itself. Empty ones are left out, which a form sends for fields that were not filled in, and
// of a day its begin is meant.
func (v *Visit) Parameters() (url.Values, error) {
	all, err := url.ParseQuery(v.URL.RawQuery)
	if err != nil {
		return nil, problem.Of(app.Invalid, "the address of the page cannot be read", "write a percent sign as %25")
	}
	for name, values := range all {
		switch {
		case values[0] == "" || name == "sort":
			delete(all, name)
		case (name == "since" || name == "older_than" || name == "until") && len(values[0]) == len("2006-01-02"):
			all[name] = []string{values[0] + "T00:00:00Z"}
		}
	}
	return all, nil
}

// Problem returns the problem that an answer describes.
func Problem(a *Answer) error {
	p := &problem.Problem{}
	if err := json.Unmarshal(a.Body.Bytes(), p); err != nil || p.Code == "" {
		return fmt.Errorf("the API answers with %d, which is no problem: %w", a.Status, err)
	}
	return p
}

// Try sends a command. What the API refuses is no error of the page: it says why.
func Try[O any](v *Visit, name string, query url.Values, body any, header http.Header, names ...string) (*O, *problem.Problem, error) {
	r, err := v.Operation(name, query, names...)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, nil, err
	}
	for key, values := range header {
		r.Header[key] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	out, err := For[O](v.API, r)
	if p, is := err.(*problem.Problem); is && p.Status < http.StatusInternalServerError { //nolint:errorlint // it comes from For as it is
		return nil, p, nil
	}
	return &out, nil, err
}
