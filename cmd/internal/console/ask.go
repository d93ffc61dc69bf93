package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// answer is the answer to a request that a page sends to the API in its own process.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	of     http.ResponseWriter // whose connection the body of the request comes from, nil = it has none
}

// Unwrap makes the deadlines of the connection work.
func (a *answer) Unwrap() http.ResponseWriter { return a.of }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
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

// request returns a request of an operation, for who has sent the one to the page.
func (v *visit) request(name string, query url.Values, names ...string) (*http.Request, error) {
	op := operation.Named(name)
	r, err := http.NewRequestWithContext(v.Context(), op.Method, address(op, names)+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Host, r.RemoteAddr = v.Host, v.RemoteAddr
	return r, nil
}

// errCutOff is the error of an answer that has begun and not come to its end.
var errCutOff = errors.New("the answer was cut off")

// answered has the API answer a request: the page lives on where its answer is cut off.
func answered(api http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch fault := recover(); fault {
		case nil:
		case http.ErrAbortHandler:
			err = errCutOff
		default:
			panic(fault)
		}
	}()
	api.ServeHTTP(w, r)
	return nil
}

// ask sends a request and decodes its answer. The error is the problem that the API describes.
func ask[O any](api http.Handler, r *http.Request) (O, error) { return askAs[O](api, r, nil) }

// askAs is ask with a body that comes from the connection of w.
func askAs[O any](api http.Handler, r *http.Request, w http.ResponseWriter) (out O, err error) {
	a := &answer{header: http.Header{}, of: w}
	if err := answered(api, a, r); err != nil {
		return out, err
	}
	if a.status >= http.StatusMultipleChoices {
		return out, problemIn(a)
	}
	err = json.Unmarshal(a.body.Bytes(), &out)
	return out, err
}

// get returns the answer of an operation that reads.
func get[O any](v *visit, name string, query url.Values, names ...string) (out O, err error) {
	r, err := v.request(name, query, names...)
	if err != nil {
		return out, err
	}
	return ask[O](v.api, r)
}

// parameters returns those of a page that its operation takes as they are: all but those of the
// page itself. Empty ones are left out, which a form sends for fields that were not filled in, and
// of a day its begin is meant.
func (v *visit) parameters() (url.Values, error) {
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

// problemIn returns the problem that an answer describes.
func problemIn(a *answer) error {
	p := &problem.Problem{}
	if err := json.Unmarshal(a.body.Bytes(), p); err != nil || p.Code == "" {
		return fmt.Errorf("the API answers with %d, which is no problem: %w", a.status, err)
	}
	return p
}
