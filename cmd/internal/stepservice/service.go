package stepservice

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/internal/crash"
)

// Service is one that does a step of jobs.
type Service struct {
	Field       string // of the profile that names it: recording
	URL         string
	Credentials Credentials // the zero value = it asks for none
}

// Credentials are the name and the password of an account.
type Credentials struct{ User, Password string }

// AccountOf returns the account at the service that a field of a profile names: all has it under
// the profile's name, a slash and the field, or for all services of the profile under its name.
func AccountOf(all map[string]Credentials, profile, field string) Credentials {
	if its, found := all[profile+"/"+field]; found {
		return its
	}
	return all[profile]
}

// Doer sends a request. *fetch.Client is one, and the only one outside tests.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Request is a step of a job.
type Request struct {
	Key      string // the same whenever the step is asked for: JOB/VERSION/STEP
	Object   string // its primary identifier
	Version  int
	Manifest []byte // the storage manifest of the version, as it is stored
}

// SHA256 returns the digest of the manifest, in hexadecimal.
func (r Request) SHA256() string {
	sum := sha256.Sum256(r.Manifest)
	return hex.EncodeToString(sum[:])
}

// Answer is how far a service is. Exactly one of Done and Location is set.
type Answer struct {
	Done     *Done
	Location string        // where it says how far it is
	After    time.Duration // for which it asks to be left alone before that, 0 = it does not say
}

// Done is what a service says of a step that it has done.
type Done struct {
	Object   string `json:"object_id"`
	Version  int    `json:"version"`
	Manifest string `json:"manifest_sha256"`
	// ID is by what the service knows the version, "" = it does not say.
	ID string `json:"id,omitempty"`
}

// Bounds of an answer, in bytes.
const (
	maxAnswer   = 64 << 10
	maxLocation = 2 << 10
	maxID       = 255
)

// Ask asks a service to do a step, and may be called again with the same request, however the
// call before has ended. The error is an *Error; Retry reports whether another call may help.
func (s Service) Ask(ctx context.Context, via Doer, r Request) (Answer, error) {
	sum := sha256.Sum256(r.Manifest)
	return s.exchange(ctx, via, r, http.MethodPost, s.URL, r.Manifest, http.Header{
		"Content-Type": {"application/json"}, "Repr-Digest": {"sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"}})
}

// Look asks a service how far it is with a step that it has taken.
func (s Service) Look(ctx context.Context, via Doer, r Request, location string) (Answer, error) {
	a, err := s.exchange(ctx, via, r, http.MethodGet, location, nil, http.Header{})
	if err == nil && a.Done == nil && a.Location == "" {
		a.Location = location
	}
	return a, err
}

// Has reports whether a location is one of the service: of the same scheme, host and port.
func (s Service) Has(location string) bool {
	own, err := url.Parse(s.URL)
	at, bad := url.Parse(location)
	return err == nil && bad == nil && at.Scheme == own.Scheme && host(at) == host(own) && at.User == nil && at.Fragment == ""
}

// host returns the host and the port of a URL, as they are compared.
func host(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func (s Service) exchange(ctx context.Context, via Doer, r Request, method, to string, body []byte, header http.Header) (a Answer, err error) {
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return a, s.strange(0, "its address is not a URL")
	}
	req.Header = header
	req.Header.Set("Idempotency-Key", r.Key)
	req.Header.Set("Accept", "application/json")
	if s.Credentials.User != "" {
		req.SetBasicAuth(s.Credentials.User, s.Credentials.Password)
	}
	var resp *http.Response
	err = crash.Around("stepservice/step/ask", func() (err error) {
		resp, err = via.Do(req) //nolint:bodyclose // closed below
		return err
	})
	if err != nil {
		return a, s.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return a, s.unanswered(ctx, err)
	}
	return s.understand(r, method, resp, said)
}

// understand returns what an answer says.
func (s Service) understand(r Request, method string, resp *http.Response, said []byte) (a Answer, err error) {
	status := resp.StatusCode
	switch status {
	case http.StatusOK, http.StatusCreated:
		a.Done, err = s.done(r, status, said)
		return a, err
	case http.StatusAccepted:
		a.After = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		location := resp.Header.Get("Location")
		if location == "" && method == http.MethodGet {
			return a, nil
		}
		a.Location, err = s.location(location)
		return a, err
	}
	if status >= 200 && status <= 399 {
		return a, s.strange(status, "that is none of 200, 201 and 202")
	}
	return a, s.refused(status, resp.Header, said)
}

// location returns the address to which a service refers for what comes later: one of its own,
// for it is sent the credentials.
func (s Service) location(to string) (string, error) {
	base, err := url.Parse(s.URL)
	if err != nil {
		return "", s.strange(http.StatusAccepted, "the profile's URL cannot be read")
	}
	at, err := base.Parse(to)
	switch {
	case to == "":
		return "", s.strange(http.StatusAccepted, "it has no Location")
	case err != nil || len(to) > maxLocation:
		return "", s.strange(http.StatusAccepted, "its Location is not a URL of up to "+fmt.Sprint(maxLocation)+" bytes")
	case !s.Has(at.String()):
		return "", s.strange(http.StatusAccepted, "its Location is of another server, "+at.Scheme+"://"+at.Host)
	}
	return at.String(), nil
}

// done reads and checks what a service says of a step that it calls done.
func (s Service) done(r Request, status int, said []byte) (*Done, error) {
	if len(said) > maxAnswer {
		return nil, s.strange(status, fmt.Sprintf("it has more than %d bytes", maxAnswer))
	}
	var d Done
	if err := json.Unmarshal(said, &d); err != nil {
		return nil, s.strange(status, "it is not JSON of this form: "+err.Error())
	}
	differs := func(member, is, want string) *Error {
		return s.strange(status, fmt.Sprintf("its %s is %q, and that of what was sent is %q", member, is, want))
	}
	switch want := r.SHA256(); {
	case d.Object != r.Object:
		return nil, differs("object_id", d.Object, r.Object)
	case d.Version != r.Version:
		return nil, differs("version", fmt.Sprint(d.Version), fmt.Sprint(r.Version))
	case !strings.EqualFold(d.Manifest, want):
		return nil, differs("manifest_sha256", d.Manifest, want)
	case len(d.ID) > maxID || text.Line(d.ID) != d.ID:
		return nil, s.strange(status, fmt.Sprintf("its id is not one line of up to %d bytes", maxID))
	}
	d.Manifest = r.SHA256()
	return &d, nil
}
