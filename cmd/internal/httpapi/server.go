// Package httpapi serves the operations of package operation over HTTP. It holds no state
// of its own: any process answers any request.
package httpapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/forms"
	"github.com/accession-ingest/accession/cmd/internal/httpapi/internal/tus"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// People knows users and programs, and audits what they did: see [people.People].
type People interface {
	// Authenticate returns who sends a request, with the rights of now, and how that is
	// known. The error is one of kind Unauthenticated or Full.
	Authenticate(ctx context.Context, c people.Credential, address string) (caller access.Caller, via string, err error)
	// Note audits what a caller did or was refused.
	Note(ctx context.Context, by people.By, action, subject, outcome, detail, why string) error
}

// Server answers people and programs.
type Server struct {
	Open    app.Resources
	People  People
	Version string
	Log     *slog.Logger
	// Proxies are the networks of the proxies in front.
	Proxies []netip.Prefix
	// Forwarded says that they write Forwarded, and not X-Forwarded-For.
	Forwarded bool
	// OpenID signs people in for the pages, nil = there is no such provider.
	OpenID *people.OpenID
	// Certificate and Key are files in PEM form; "" = without TLS.
	Certificate, Key string

	header, body, receive, work, idle time.Duration // of tests, 0 = headerTime, bodyTime, receiveTime, workTime and idleTime
	refusals                          refusals
}

// Bounds of a request.
const (
	headerTime  = 10 * time.Second
	bodyTime    = 30 * time.Second // for all of a body that is kept in memory, or that no handler reads
	receiveTime = time.Minute      // for each piece of the answer
	workTime    = 5 * time.Minute  // for an answer that is neither a file nor a stream
	idleTime    = 2 * time.Minute
	stopTime    = 10 * time.Second
	maxBody     = 1 << 20
	maxHeader   = 32 << 10
	maxFields   = 200 // of the header
)

// Listener is a server that listens.
type Listener struct {
	srv *http.Server
	l   net.Listener
	of  *Server
}

// Listen opens the address.
func (s *Server) Listen(ctx context.Context, address string) (*Listener, error) {
	return s.listen(ctx, address, s.Handler())
}

func (s *Server) listen(ctx context.Context, address string, h http.Handler) (*Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if s.Certificate != "" || s.Key != "" {
		c := &certificate{cert: s.Certificate, key: s.Key, log: s.Log}
		if err := c.load(time.Now()); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l = tls.NewListener(l, &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	}
	if s.unprotected(l.Addr()) {
		s.Log.Warn("passwords and keys cross the network as they are", "address", l.Addr().String(),
			"hint", "set http_certificate and http_key; or listen on 127.0.0.1, or name the proxy in front that has TLS in http_proxies")
	}
	stop := make(chan struct{})
	srv := &http.Server{Handler: h, ReadHeaderTimeout: cmp.Or(s.header, headerTime), IdleTimeout: cmp.Or(s.idle, idleTime), MaxHeaderBytes: maxHeader, ConnState: s.begun,
		HTTP2:    &http.HTTP2Config{WriteByteTimeout: cmp.Or(s.receive, receiveTime)}, // of a connection that takes nothing at all
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context {
			return operation.WithStop(context.Background(), stop)
		}}
	srv.RegisterOnShutdown(sync.OnceFunc(func() { close(stop) }))
	return &Listener{l: l, srv: srv, of: s}, nil
}

// unprotected reports whether other machines may send requests to an address, and no TLS is known
// of, here or of a proxy in front.
func (s *Server) unprotected(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return s.Certificate == "" && len(s.Proxies) == 0 && (!ok || !tcp.IP.IsLoopback())
}

// begun sets the deadlines of a request as soon as its header has come, also of one that the library
// refuses by itself; [sent] changes them. HTTP/2 has those of its streams.
func (s *Server) begun(c net.Conn, is http.ConnState) {
	t, ok := c.(*tls.Conn)
	if is != http.StateActive || ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		return
	}
	end := time.Now().Add(cmp.Or(s.body, bodyTime))
	_ = c.SetReadDeadline(end) // the client has gone
	_ = c.SetWriteDeadline(end.Add(cmp.Or(s.receive, receiveTime)))
}

// Address returns where it listens.
func (l *Listener) Address() string { return l.l.Addr().String() }

// Run answers until the context ends, and then ends the requests that are open.
func (l *Listener) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- l.srv.Serve(l.l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := l.srv.Shutdown(stopping); err != nil {
		_ = l.srv.Close() // a request is still open
	}
	l.of.refusals.end()
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// API returns the routes and their description.
func (s *Server) API() (*http.ServeMux, huma.API) {
	mux := http.NewServeMux()
	return mux, s.route(mux)
}

// routes are where routes are added.
type routes interface {
	ServeHTTP(w http.ResponseWriter, r *http.Request)
	Handle(pattern string, h http.Handler)
	HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request))
}

// route adds the routes, and returns their description.
func (s *Server) route(mux routes) huma.API {
	problems()
	cfg := huma.DefaultConfig("Accession", s.Version)
	cfg.DocsPath, cfg.OpenAPIPath, cfg.SchemasPath = "", "/v1/openapi", "/v1/schemas"
	cfg.RejectUnknownQueryParameters, cfg.CreateHooks = true, nil
	cfg.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[domain.Time](), reflect.TypeFor[time.Time]())
	cfg.Components.Schemas = schemas
	cfg.Info.Description = "Deposits, what became of them, and the commands of operators. Every request but those for this description, which GET /v1/docs has as a page, needs an API key, a session, or a name and password."
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key":      {Type: "http", Scheme: "bearer", Description: "An API key, or a session"},
		"password": {Type: "http", Scheme: "basic", Description: "Name and password"},
	}
	cfg.Security = []map[string][]string{{"key": {}}, {"password": {}}}
	api := humago.New(mux, cfg)
	for _, op := range operation.Table() {
		o := huma.Operation{OperationID: op.Name, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: describe(op),
			Tags: []string{noun(op.Name)}, MaxBodyBytes: maxBody, BodyReadTimeout: cmp.Or(s.body, bodyTime), Errors: failures(op)}
		if op.File {
			o.RequestBody = &huma.RequestBody{Required: true, Description: "The file", Content: map[string]*huma.MediaType{
				"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}
		}
		if op.Sends != nil {
			o.Responses = sends(op)
		}
		op.Register(api, o, operation.Server{Begin: s.begin, Ended: s.ended})
	}
	for _, f := range forms.Table() {
		mux.Handle(f.Method+" "+f.Path, s.form(f))
		mux.Handle(f.Method+" "+f.Path+"/{$}", s.form(f)) // so some clients write it
	}
	s.resumable(mux)
	describeOthers(api.OpenAPI())
	mux.HandleFunc(inputsRoute, s.input)
	mux.Handle(http.MethodGet+" "+docsPath, docs(api.OpenAPI()))
	return api
}

// Handler returns the routes, behind what holds for every request.
func (s *Server) Handler() http.Handler {
	mux, _ := s.API()
	s.pages(mux)
	return s.behind(mux)
}

// behind returns the routes behind what holds for every request.
func (s *Server) behind(mux *http.ServeMux) http.Handler {
	of := operations()
	sameOrigin := http.NewCrossOriginProtection() // a page in a browser must not use the password that it has
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, id, from := time.Now(), uuid.Must(uuid.NewV7()).String(), s.comesFrom(r)
		ctx := context.WithValue(context.WithValue(r.Context(), keyRequest, id), keyFrom, from)
		sent := &sent{ResponseWriter: w, body: cmp.Or(s.body, bodyTime), receive: cmp.Or(s.receive, receiveTime)}
		r = r.WithContext(ctx)
		r.Body = sent.arriving(r.Body)
		defer sent.hurry() // the library sends the end
		h := w.Header()
		h.Set("X-Request-Id", id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		route := ""
		defer func() { // also of an answer that is cut off
			s.Log.Info("request", "method", method(r.Method), "route", route, "status", statusOf(ctx, sent.status), "took", time.Since(begun), "from", from, "request", id)
		}()
		if n := fields(r.Header); n > maxFields {
			p := problem.ForCaller(&app.Error{Kind: app.Invalid, Err: fmt.Errorf("the header has %d fields", n), Hint: fmt.Sprintf("send at most %d", maxFields)}, id)
			p.Status, p.Title = http.StatusRequestHeaderFieldsTooLarge, http.StatusText(http.StatusRequestHeaderFieldsTooLarge)
			refuse(sent, p)
			return
		}
		if err := sameOrigin.Check(r); err != nil {
			refuse(sent, problem.ForCaller(&app.Error{Kind: app.Forbidden, Err: errors.New("a page of another origin may not send this"), Hint: "programs send no Origin"}, id))
			return
		}
		k := &known{}
		r = r.WithContext(context.WithValue(ctx, keyCaller, k))
		defer func() { s.unseen(r, of[route], sent.status) }()
		s.serve(sent, r, mux, of, &route)
	})
}

// fields returns how many fields a header has.
func fields(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}

// serve answers a request and sets its route, which stays "" if there is none.
func (s *Server) serve(w *sent, r *http.Request, mux *http.ServeMux, of map[string]*operation.Operation, route *string) {
	defer func() {
		switch fault := recover(); fault {
		case nil:
		case http.ErrAbortHandler: // the answer is cut off, which is logged
			panic(fault)
		default:
			s.Log.Error("a request made the service panic", "route", *route, "request", requestID(r.Context()), "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			if w.status == 0 {
				refuse(w, problem.ForCaller(errors.New("panic"), requestID(r.Context())))
			}
		}
	}()
	handler, pattern := mux.Handler(r)
	if *route = pattern; pattern == "" {
		refuse(w, s.noRoute(handler, r))
		return
	}
	if !withoutCaller(handler, pattern) {
		if err := s.identify(r, credentialFor(handler, r)); err != nil {
			s.unknown(w, r, handler, err)
			return
		}
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // the library would leave out what it cannot read
			refuse(w, problem.ForCaller(&app.Error{Kind: app.Invalid, What: "read the query", Err: err, Hint: "write a percent sign as %25, and other characters as % and two hex digits"}, requestID(r.Context())))
			return
		}
	}
	s.carryOut(w, r, mux, of[pattern])
}

// identify finds out who has sent a request. The error is one of kind Unauthenticated or Full.
func (s *Server) identify(r *http.Request, c people.Credential) error {
	from := addressOf(r.Context())
	caller, via, err := s.People.Authenticate(r.Context(), c, from)
	if err != nil {
		return err
	}
	k, _ := r.Context().Value(keyCaller).(*known)
	k.caller, k.by = caller, people.By{Name: caller.Name, Via: via, Address: from}
	return nil
}

// carryOut has a request answered that is let in, within a time unless the answer is a file or a
// stream.
func (s *Server) carryOut(w http.ResponseWriter, r *http.Request, mux *http.ServeMux, op *operation.Operation) {
	if op != nil && !op.File && op.Sends == nil {
		ctx, cancel := context.WithTimeout(r.Context(), cmp.Or(s.work, workTime))
		defer cancel()
		r = r.WithContext(ctx)
	}
	mux.ServeHTTP(w, r)
}

// withoutCaller reports whether everyone may send the requests of a route. A form finds out
// by itself who sends it.
func withoutCaller(handler http.Handler, pattern string) bool {
	_, isForm := handler.(formHandler)
	if p, is := handler.(pageHandler); is {
		return p.open
	}
	_, path, _ := strings.Cut(pattern, " ")
	return isForm || pattern == http.MethodOptions+" "+tus.Path || pattern == inputsRoute || path == docsPath || strings.HasPrefix(path, "/v1/openapi") || strings.HasPrefix(path, "/v1/schemas/")
}

// unknown refuses a request of which it is not known who sends it.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request, handler http.Handler, err error) {
	p := problem.ForCaller(err, requestID(r.Context()))
	if p.Status >= http.StatusInternalServerError && p.Code != string(app.IntakeClosed) {
		level := slog.LevelError
		if clientGone(r.Context()) && errors.Is(err, context.Canceled) {
			level = slog.LevelInfo
		}
		s.Log.Log(r.Context(), level, "who calls cannot be found out", "request", p.Request, "error", err)
	}
	if page, is := handler.(pageHandler); is {
		page.console.Refuse(w, r, p)
		return
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Add("WWW-Authenticate", `Bearer realm="accession"`)
		w.Header().Add("WWW-Authenticate", `Basic realm="accession", charset="UTF-8"`)
	}
	refuse(w, p)
}

// statusOf returns the status of an answer as it is logged.
func statusOf(ctx context.Context, status int) int {
	if status >= http.StatusInternalServerError && clientGone(ctx) {
		return statusGone
	}
	return status
}

// noRoute returns the problem of a path or method that no operation has.
func (s *Server) noRoute(handler http.Handler, r *http.Request) *Problem {
	probe := &probe{header: http.Header{}}
	handler.ServeHTTP(probe, r)
	p := noPath(r)
	if probe.status == http.StatusMethodNotAllowed {
		p.Status, p.Code, p.Detail = probe.status, string(app.Invalid), "the path takes "+probe.header.Get("Allow")
	}
	p.Title, p.Exit = http.StatusText(p.Status), app.ExitCodes[app.Kind(p.Code)]
	return p
}

// noPath returns the problem of a path that there is not.
func noPath(r *http.Request) *Problem {
	p := problem.Of(app.NotFound, "there is no such path", "GET /v1/docs shows them, and /v1/openapi.json lists them for programs")
	p.Request = requestID(r.Context())
	return p
}

// credential returns what a request proves its caller by.
func credential(r *http.Request) (c people.Credential) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		c.Token = strings.TrimSpace(token)
		return c
	}
	c.Name, c.Password, _ = r.BasicAuth()
	return c
}

// begin returns the call of a request.
func (s *Server) begin(ctx context.Context, _ *operation.Operation) *operation.Call {
	k, _ := ctx.Value(keyCaller).(*known)
	if k == nil {
		k = &known{} // nothing is allowed
	}
	return &operation.Call{Caller: k.caller, By: k.by, App: &app.App{Open: s.Open, Actor: domain.UserActor(k.caller.Name)}}
}

func addressOf(ctx context.Context) string {
	from, _ := ctx.Value(keyFrom).(string)
	return from
}

// method returns the method of a request, if it is one that there is.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// probe finds out what a handler would answer.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }
func (p *probe) WriteHeader(status int)      { p.status = status }
