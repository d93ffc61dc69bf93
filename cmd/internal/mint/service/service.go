package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/internal/crash"
)

// The kinds of services, by their protocol.
const (
	EZID     = "ezid"
	DataCite = "datacite"
)

// Service is one that registers identifiers.
type Service struct {
	Kind        string // EZID or DataCite
	URL         string // below which it answers, such as https://ezid.cdlib.org
	Credentials Credentials
}

// Credentials are the name and the password of an account.
type Credentials struct{ User, Password string }

// Doer sends a request. *fetch.Client is one, and the only one outside tests.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Request is an identifier to be registered.
type Request struct {
	// Identifier is the name that was reserved, in its normal form.
	Identifier string
	// For says for whom it is made, as INSTALLATION/JOB: by it the service's record of the
	// identifier is recognised when it has one already.
	For string
	// Target is the URL to which the identifier leads; "" = it is reserved at the service, and
	// leads nowhere yet.
	Target string
	// Who, What and When describe the object, as an electronic resource citation has them. ""
	// = not known.
	Who, What, When string
	Publisher       string // who keeps the object
	Year            int    // of the registration: that of the object if When does not begin with one
}

// Marker is the name under which a service keeps for whom an identifier was made.
const Marker = "accession.job"

// Make has an identifier registered. It may be called again with the same request, however the
// call before has ended: an identifier that is there already was made by it. The error is an
// *Error; Retry reports whether another call may help.
func (s Service) Make(ctx context.Context, via Doer, r Request) error {
	if s.Credentials.User == "" {
		return &Error{Code: CodeNoCredentials, Message: "the setting minter_credentials has no line for the profile: add one, and start the service again"}
	}
	register, look := s.registerAtEZID, s.lookAtEZID
	if s.Kind == DataCite {
		register, look = s.registerAtDataCite, s.lookAtDataCite
	}
	err := register(ctx, via, r)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != CodeRefused {
		return err
	}
	// It may have refused the name because it has it.
	found, madeFor, lookErr := look(ctx, via, r.Identifier)
	switch {
	case lookErr != nil:
		return lookErr
	case !found:
		return err
	case madeFor != r.For:
		return &Error{Code: CodeTaken, Status: refused.Status, Message: fmt.Sprintf("%s has %s already, made for %q and not for %q: give the profile a shoulder of its own",
			s.shown(), r.Identifier, words(madeFor), r.For)}
	}
	return nil
}

// shown returns how messages name the service.
func (s Service) shown() string {
	name := "EZID"
	if s.Kind == DataCite {
		name = "DataCite"
	}
	if u, err := url.Parse(s.URL); err == nil {
		name += " at " + u.Host
	}
	return name
}

// answer is what a service answers to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) ok() bool { return a.status >= 200 && a.status <= 299 }

// maxAnswer is how many bytes of an answer are read: far more than the record of an
// identifier has.
const maxAnswer = 1 << 20

// ask sends a request to a path below the service's URL.
func (s Service) ask(ctx context.Context, via Doer, method, path, mediaType, body string) (a answer, err error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(s.URL, "/")+path, strings.NewReader(body))
	if err != nil {
		return a, &Error{Code: CodeAnswer, Message: "the profile's identifier.url is not a URL; correct it"}
	}
	req.SetBasicAuth(s.Credentials.User, s.Credentials.Password)
	req.Header.Set("Accept", mediaType)
	if body != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	var resp *http.Response
	err = crash.Around("mint/service/ask", func() (err error) {
		resp, err = via.Do(req) //nolint:bodyclose // closed below
		return err
	})
	if err != nil {
		return a, s.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return a, s.unanswered(ctx, err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}, nil
}

// yearOf returns the year with which a date begins, else another one.
func yearOf(when string, or int) int {
	if len(when) >= 4 && (len(when) == 4 || when[4] < '0' || when[4] > '9') {
		if n, err := strconv.ParseUint(when[:4], 10, 16); err == nil && n > 0 {
			return int(n)
		}
	}
	return or
}
