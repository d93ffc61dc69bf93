package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console"
)

// pageHandler serves a page of the console, to who has a session in a cookie.
type pageHandler struct {
	http.Handler
	console *console.Console
	open    bool // to everyone
}

// pages adds the pages of the console. They ask the routes that are there already.
func (s *Server) pages(mux *http.ServeMux) {
	c := &console.Console{API: s.within(mux), Version: s.Version, Log: s.Log, RequestID: func(r *http.Request) string { return requestID(r.Context()) },
		From: func(r *http.Request) string { return addressOf(r.Context()) }}
	if s.OpenID != nil {
		c.OpenID = s.OpenID
	}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, pageHandler{r.Handler, c, r.Open})
	}
	mux.Handle("GET "+strings.TrimSuffix(console.Path, "/"), pageHandler{http.RedirectHandler(console.Path, http.StatusSeeOther), c, true})
	mux.Handle("/{$}", pageHandler{http.HandlerFunc(s.front), c, true})
}

// front leads browsers from the address of the service to the pages.
func (*Server) front(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(w, r, console.Path, http.StatusSeeOther)
		return
	}
	refuse(w, noPath(r))
}

// credentialFor returns what a request proves its caller by: a page's by the cookie, and by
// nothing else, for browsers send what they keep by themselves, and pages of others make them.
func credentialFor(handler http.Handler, r *http.Request) people.Credential {
	if _, is := handler.(pageHandler); is {
		return people.Credential{Token: console.Token(r)}
	}
	return credential(r)
}

// within returns what answers the requests that a page sends to the operations: for the caller of
// the page, or for whom the request names.
func (s *Server) within(mux *http.ServeMux) http.Handler {
	of := operations()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, answer := &known{}, &noted{ResponseWriter: w}
		if k, _ := r.Context().Value(keyCaller).(*known); k != nil {
			asked.caller, asked.by = k.caller, k.by
		}
		r = r.WithContext(context.WithValue(r.Context(), keyCaller, asked))
		handler, pattern := mux.Handler(r)
		if r.Header.Get("Authorization") != "" {
			if err := s.identify(r, credential(r)); err != nil {
				s.unknown(answer, r, handler, err)
				return
			}
		}
		if asked.by.Name == "" {
			refuse(answer, problem.ForCaller(&app.Error{Kind: app.Unauthenticated, What: "show the page", Err: errors.New("it is not known who asks")}, requestID(r.Context())))
			return
		}
		defer func() { s.unseen(r, of[pattern], answer.status) }()
		s.carryOut(answer, r, mux, of[pattern])
	})
}

// noted is an answer whose status is kept.
type noted struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (n *noted) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap makes other things of the library's answer work.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }
