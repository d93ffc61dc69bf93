// Package minter has services that register identifiers, for tests: they speak the protocols of
// EZID and DataCite as these publish them, and may be down, refuse, hang, answer something
// else, or do their work and lose the answer.
package minter

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Options say what a service is.
type Options struct {
	DataCite       bool   // it speaks DataCite's protocol, not EZID's
	Shoulder       string // with which the identifiers begin that the account may make: ark:/99999/fk4, or a DOI's prefix
	User, Password string
}

// Fault is what a service does to one request.
type Fault struct {
	Status int               // answers this, with Body, and does nothing
	Header map[string]string // of that answer
	Body   string
	Lose   bool // does its work, and ends the connection without an answer
	Hang   bool // does nothing, and no answer comes until the client leaves
}

// Record is what a service knows of an identifier: EZID's elements, or DataCite's attributes as
// JSON.
type Record map[string]string

// Server is such a service.
type Server struct {
	t       testing.TB
	options Options
	address string

	mu       sync.Mutex
	web      *httptest.Server // nil = it is down
	faults   []Fault
	records  map[string]Record
	made     int
	requests []string
	hung     chan struct{}
}

// New starts a service, which ends with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, options: o, address: "127.0.0.1:0", records: map[string]Record{}, hung: make(chan struct{}, 100)}
	s.Up()
	t.Cleanup(s.Down)
	return s
}

// URL returns where the service answers when it is up.
func (s *Server) URL() string { return "http://" + s.address }

// Up lets a service that is down answer again, at the same address.
func (s *Server) Up() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	web := &httptest.Server{Listener: l, Config: &http.Server{Handler: s}}
	web.Start()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.web, s.address = web, l.Addr().String()
}

// Down ends the service; it keeps what it knows.
func (s *Server) Down() {
	s.mu.Lock()
	web := s.web
	s.web = nil
	s.mu.Unlock()
	if web != nil {
		web.CloseClientConnections()
		web.Close()
	}
}

// Fail lets the next requests end so, one each.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Hung receives a value for each request that hangs.
func (s *Server) Hung() <-chan struct{} { return s.hung }

// Records returns what the service knows, and how many identifiers it has made.
func (s *Server) Records() (records map[string]Record, made int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.records), s.made
}

// Requests returns the requests so far, as METHOD PATH.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Put lets the service know an identifier that another has made.
func (s *Server) Put(identifier string, r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[identifier] = r
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	var fault Fault
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	switch {
	case fault.Hang:
		s.hung <- struct{}{}
		<-r.Context().Done()
		return
	case fault.Status != 0:
		for name, value := range fault.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(fault.Status)
		_, _ = io.WriteString(w, fault.Body)
		return
	}
	answer := s.ezid
	if s.options.DataCite {
		answer = s.datacite
	}
	status, mediaType, text := answer(r, string(body))
	if fault.Lose {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// signedIn reports whether a request has the credentials of the account.
func (s *Server) signedIn(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && user == s.options.User && subtle.ConstantTimeCompare([]byte(password), []byte(s.options.Password)) == 1
}

// ezid answers as EZID does.
func (s *Server) ezid(r *http.Request, body string) (status int, mediaType, text string) {
	mediaType = "text/plain; charset=UTF-8"
	say := func(status int, format string, args ...any) (int, string, string) {
		return status, mediaType, fmt.Sprintf(format, args...)
	}
	identifier, ok := strings.CutPrefix(r.URL.Path, "/id/")
	switch {
	case !ok:
		return say(http.StatusNotFound, "error: not found")
	case r.Method == http.MethodPut && !s.signedIn(r):
		return say(http.StatusUnauthorized, "error: unauthorized - authentication failure")
	case r.Method == http.MethodPut && !strings.HasPrefix(identifier, s.options.Shoulder):
		return say(http.StatusForbidden, "error: forbidden")
	case r.Method == http.MethodPut && body != "" && !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain"):
		return say(http.StatusBadRequest, "error: bad request - unsupported content type")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	record, known := s.records[identifier]
	switch r.Method {
	case http.MethodGet:
		if !known {
			return say(http.StatusBadRequest, "error: bad request - no such identifier")
		}
		text := "success: " + identifier + "\n"
		for _, name := range slices.Sorted(maps.Keys(record)) {
			text += escaped(name) + ": " + escaped(record[name]) + "\n"
		}
		return say(http.StatusOK, "%s", text)
	case http.MethodPut:
		if known {
			return say(http.StatusBadRequest, "error: bad request - identifier already exists, cannot create")
		}
		record, err := elements(body)
		if err != nil {
			return say(http.StatusBadRequest, "error: bad request - %v", err)
		}
		s.records[identifier] = record
		s.made++
		return say(http.StatusCreated, "success: %s", identifier)
	}
	return say(http.StatusMethodNotAllowed, "error: method not allowed")
}

// The text of elements, as EZID's page has it in Python.
var (
	special = regexp.MustCompile("[%:\r\n]")
	code    = regexp.MustCompile("%([0-9A-Fa-f][0-9A-Fa-f])")
	lineEnd = regexp.MustCompile("\r\n|[\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029]")
)

func escaped(s string) string {
	return special.ReplaceAllStringFunc(s, func(c string) string { return fmt.Sprintf("%%%02X", c[0]) })
}

func unescaped(s string) string {
	return strings.TrimSpace(code.ReplaceAllStringFunc(s, func(c string) string {
		n, _ := strconv.ParseUint(c[1:], 16, 8)
		return string(rune(n))
	}))
}

func elements(body string) (Record, error) {
	r := Record{"_status": "public"}
	for _, line := range lineEnd.Split(body, -1) {
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("element without a colon: %s", line)
		}
		if name = unescaped(name); name == "_owner" || name == "" {
			return nil, fmt.Errorf("use of reserved metadata element name")
		}
		r[name] = unescaped(value)
	}
	return r, nil
}

// datacite answers as DataCite does.
func (s *Server) datacite(r *http.Request, body string) (status int, mediaType, text string) {
	mediaType = "application/json; charset=utf-8"
	say := func(status int, v any) (int, string, string) {
		text, err := json.Marshal(v)
		if err != nil {
			s.t.Error(err)
		}
		return status, mediaType, string(text)
	}
	failed := func(status int, source, title string) (int, string, string) {
		e := map[string]string{"title": title}
		if e["status"] = strconv.Itoa(status); source != "" {
			delete(e, "status")
			e["source"] = source
		}
		return say(status, map[string]any{"errors": []any{e}})
	}
	doi, named := strings.CutPrefix(r.URL.Path, "/dois/")
	switch {
	case !named && r.URL.Path != "/dois":
		return failed(http.StatusNotFound, "", "The resource you are looking for doesn't exist.")
	case !s.signedIn(r):
		return failed(http.StatusUnauthorized, "", "Bad credentials.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		record, known := s.records[strings.ToLower(doi)]
		if !known {
			return failed(http.StatusNotFound, "", "The resource you are looking for doesn't exist.")
		}
		return say(http.StatusOK, documentOf(strings.ToLower(doi), record))
	}
	var d struct {
		Data struct {
			Type       string
			Attributes map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil || d.Data.Type != "dois" || r.Header.Get("Content-Type") != "application/vnd.api+json" {
		return failed(http.StatusBadRequest, "", "You need to provide a payload following the JSONAPI spec")
	}
	record := Record{}
	for name, value := range d.Data.Attributes {
		record[name] = string(value)
	}
	_ = json.Unmarshal(d.Data.Attributes["doi"], &doi)
	doi = strings.ToLower(doi)
	switch {
	case r.Method != http.MethodPost:
		return failed(http.StatusMethodNotAllowed, "", "Method not allowed")
	case !strings.HasPrefix(doi, s.options.Shoulder):
		return failed(http.StatusForbidden, "", "You are not authorized to access this resource.")
	case s.records[doi] != nil:
		return failed(http.StatusUnprocessableEntity, "doi", "This DOI has already been taken")
	}
	record["state"] = `"draft"`
	if record["event"] == `"publish"` {
		for _, name := range []string{"url", "creators", "titles", "publisher", "publicationYear", "types"} {
			if record[name] == "" {
				return failed(http.StatusUnprocessableEntity, name, "Can't be blank")
			}
		}
		record["state"] = `"findable"`
	}
	delete(record, "event")
	s.records[doi] = record
	s.made++
	return say(http.StatusCreated, documentOf(doi, record))
}

// documentOf returns a DOI as DataCite shows it: alternate identifiers under both names.
func documentOf(doi string, r Record) any {
	attributes := map[string]any{"identifiers": []any{}}
	for name, value := range r {
		attributes[name] = json.RawMessage(value)
	}
	var alternate []struct{ AlternateIdentifier, AlternateIdentifierType string }
	if json.Unmarshal([]byte(r["alternateIdentifiers"]), &alternate) == nil {
		var all []map[string]string
		for _, a := range alternate {
			all = append(all, map[string]string{"identifier": a.AlternateIdentifier, "identifierType": a.AlternateIdentifierType})
		}
		attributes["identifiers"] = all
	}
	return map[string]any{"data": map[string]any{"id": doi, "type": "dois", "attributes": attributes}}
}
