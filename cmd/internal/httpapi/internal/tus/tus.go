// Package tus takes large files in pieces, by the protocol tus 1.0: an upload goes on where it
// was cut off, at any process. The protocol is tusd's; the uploads are those of package drops,
// and the errors those of the API.
package tus

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"
	"golang.org/x/exp/slog"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Path is where uploads begin; each has a path below it.
const Path = "/v1/resumable-uploads"

const (
	networkTime = 30 * time.Second      // for the next bytes of a piece
	lockTime    = 5 * time.Second       // until another request leaves the upload
	afterTime   = 50 * time.Millisecond // for a request whose client is gone
)

// Route is a row of the table of requests.
type Route struct {
	Name    string // as it is audited
	Method  string
	Path    string
	Summary string
	Who     string // may send it
	Write   bool
}

const own = "Every user may: the own uploads."

var (
	options  = Route{"resumable.options", http.MethodOptions, Path, "Say which version and extensions of tus are served, and how large a file may be", "Everyone may.", false}
	begins   = Route{"resumable.begin", http.MethodPost, Path, "Begin a deposit whose file comes in pieces", "Needs the role depositor or admin in the collection.", true}
	looks    = Route{"resumable.show", http.MethodHead, Path + "/{id}", "Say how many bytes of the file have come", own, false}
	appends  = Route{"resumable.append", http.MethodPatch, Path + "/{id}", "Send the next piece of the file; the last one makes the deposit", "Needs the role depositor or admin in the collection, for the own uploads.", true}
	cancels  = Route{"resumable.cancel", http.MethodDelete, Path + "/{id}", "Cancel an upload", own, true}
	finishes = Route{Name: "resumable.finish", Path: Path + "/{id}", Write: true} // no request
)

// Table returns the requests that are served.
func Table() []Route { return []Route{options, begins, looks, appends, cancels} }

// Operation returns the route as an operation.
func (r Route) Operation() *operation.Operation {
	return &operation.Operation{Name: r.Name, Method: r.Method, Path: r.Path, Write: r.Write}
}

// Server is what serves the uploads of an installation.
type Server struct {
	// Most is the size in bytes of the largest file that is taken.
	Most int64
	// Call and Ended are those of [operation.Server].
	operation.Server
	// Refuse answers with an error, one of Ended. Reject answers with a status, and why.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
	Reject func(w http.ResponseWriter, r *http.Request, status int, why string)

	locks *locker
}

// Header is a header that a request takes, or an answer has.
type Header struct {
	Name, Doc string
	Required  bool
}

// Described is what a route takes and answers with, besides problems.
type Described struct {
	Takes  []Header
	Body   string // media type, "" = none
	Status int
	Doc    string
	Has    []Header
}

var (
	version   = Header{"Tus-Resumable", "Version of the protocol: 1.0.0", true}
	stands    = Header{"Upload-Offset", "How many bytes have come", true}
	expires   = Header{"Upload-Expires", "When an upload that is not finished is removed", false}
	becomes   = Header{"Location", "Once it is finished: the deposit that it became", false}
	pieces    = "application/offset+octet-stream"
	described = map[string]Described{
		options.Name: {Status: http.StatusOK, Doc: "What is served", Has: []Header{version, {"Tus-Version", "Versions that are served", true}, {"Tus-Extension", "Extensions that are served", true}, {"Tus-Max-Size", "Bytes of the largest file", true}}},
		begins.Name: {Takes: []Header{version, {"Upload-Length", "Bytes of the file", true}, {"Upload-Metadata", "The parameters of POST /v1/uploads, each with its value in base64", true},
			{"Repr-Digest", "SHA-256 of the whole file", false}, {"Idempotency-Key", "The same for every try of one request: the upload is then begun once", false}},
			Body: pieces, Status: http.StatusCreated, Doc: "It is begun", Has: []Header{version, {"Location", "Where its pieces are sent", true}, {"Upload-Offset", "How many bytes have come, if the request had a piece", false}, expires}},
		looks.Name:   {Takes: []Header{version}, Status: http.StatusOK, Doc: "How far it is", Has: []Header{version, stands, {"Upload-Length", "Bytes of the file", true}, expires, becomes}},
		appends.Name: {Takes: []Header{version, {"Upload-Offset", "How many bytes have come before the piece", true}}, Body: pieces, Status: http.StatusNoContent, Doc: "The piece is on disk", Has: []Header{version, stands, expires, becomes}},
		cancels.Name: {Takes: []Header{version}, Status: http.StatusNoContent, Doc: "It is removed", Has: []Header{version}},
	}
)

// Described returns what the route takes and answers with.
func (r Route) Described() Described { return described[r.Name] }

// Handler answers the requests of one route.
type Handler struct{ http.HandlerFunc }

// Handlers returns the handlers of the routes, by their patterns. A request of Path itself
// with the method OPTIONS has no caller.
func (s *Server) Handlers() (map[string]Handler, error) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	uploads := &store{}
	composer := handler.NewStoreComposer()
	composer.UseCore(uploads)
	composer.UseTerminater(uploads)
	s.locks = &locker{held: map[string]func(){}}
	composer.UseLocker(s.locks)
	tusd, err := handler.NewUnroutedHandler(handler.Config{
		StoreComposer: composer, MaxSize: s.Most, BasePath: Path, DisableDownload: true, DisableConcatenation: true,
		Cors: &handler.CorsConfig{Disable: true}, Logger: quiet,
		GracefulRequestCompletionTimeout: afterTime, AcquireLockTimeout: lockTime, NetworkTimeout: networkTime,
	})
	if err != nil {
		return nil, err
	}
	protocol := map[Route]http.HandlerFunc{begins: tusd.PostFile, looks: tusd.HeadFile, appends: tusd.PatchFile, cancels: tusd.DelFile}
	all := map[string]Handler{}
	for _, route := range Table() {
		all[route.Method+" "+route.Path] = s.handle(tusd, route, protocol[route])
	}
	return all, nil
}

// handle returns what answers the requests of a route.
func (s *Server) handle(tusd *handler.UnroutedHandler, route Route, do http.HandlerFunc) Handler {
	protocol := tusd.Middleware(do)
	return Handler{func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("X-Http-Method-Override")
		id := r.PathValue("id")
		x := &exchange{server: s, route: route, header: r.Header, method: r.Method, answer: w.Header()}
		x.ctx = r.Context()
		if route != options {
			x.call = s.Begin(x.ctx, route.Operation())
			x.body = drops.Patient(r.Body, http.NewResponseController(w).SetReadDeadline)
			r.Body = body{x, r.Body}
		}
		if err := drops.CheckUpload(id); err != nil && strings.HasSuffix(route.Path, "{id}") {
			_ = x.ended(route, "", err)
			s.Refuse(w, r, x.err)
			return
		}
		a := &answer{ResponseWriter: w}
		protocol.ServeHTTP(a, about(r.WithContext(context.WithValue(x.ctx, key{}, x)), id))
		switch {
		case x.err != nil:
			a.clear()
			s.Refuse(w, r, x.err)
		case a.status >= http.StatusBadRequest:
			a.clear()
			_, why, _ := strings.Cut(strings.TrimSpace(a.text.String()), ": ")
			s.Reject(w, r, a.status, why)
		default:
			a.send()
		}
	}}
}

// about returns a request whose path is the id of an upload, as tusd reads it.
func about(r *http.Request, id string) *http.Request {
	at := *r.URL
	at.Path, at.RawPath = id, ""
	r.URL = &at
	return r
}

// key is that of the exchange in a context.
type key struct{}

// exchange is a request with its answer.
type exchange struct {
	server *Server
	route  Route
	call   *operation.Call
	ctx    context.Context //nolint:containedctx // that of the request, which tusd hides
	method string
	header http.Header // of the request
	answer http.Header
	body   io.Reader
	read   int64 // bytes of the body
	locked bool  // the upload is
	err    error // to answer with
}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(key{}).(*exchange) }

// ended notes what became of something that the request is about, and returns an error if it
// failed, for tusd.
func (x *exchange) ended(of Route, on string, err error) error {
	if err = x.server.Ended(x.ctx, of.Operation(), operation.Ending{On: on, Err: err}); err == nil {
		return nil
	}
	x.err = err
	return handler.NewError("ERR_REFUSED", err.Error(), http.StatusInternalServerError)
}

// about says in the answer how the upload stands.
func (x *exchange) about(u drops.Resumable) {
	if !u.Finished {
		x.answer.Set("Upload-Expires", u.Expires().UTC().Format(http.TimeFormat))
		return
	}
	x.answer.Del("Upload-Expires")
	if x.method != http.MethodPost { // there it names the upload
		x.answer.Set("Location", "/v1/uploads/"+u.Deposit.ID)
	}
}

// body is that of a request, of which a client that drips is refused.
type body struct {
	x *exchange
	io.Closer
}

// Read implements io.Reader.
func (b body) Read(p []byte) (int, error) {
	n, err := b.x.body.Read(p)
	b.x.read += int64(n)
	if fault, ok := errors.AsType[*app.Error](err); ok {
		return n, b.x.ended(b.x.route, "", fault)
	}
	return n, err
}

// answer is what tusd answers, until it is known whether it is an error.
type answer struct {
	http.ResponseWriter
	status int
	text   strings.Builder
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) { return a.text.Write(p) }

// Unwrap makes deadlines work.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// clear leaves out what is about the answer that is not sent.
func (a *answer) clear() {
	a.Header().Del("Content-Length")
	a.Header().Del("Content-Type")
}

// send sends the answer. Its paths are without a host: which one the client knows, and
// whether by TLS, this service need not know.
func (a *answer) send() {
	if served := a.Header().Get("Tus-Extension"); served != "" {
		a.Header().Set("Tus-Extension", served+",expiration")
	}
	if _, id, ok := strings.Cut(a.Header().Get("Location"), Path+"/"); ok {
		a.Header().Set("Location", Path+"/"+id)
	}
	a.ResponseWriter.WriteHeader(a.status)
	_, _ = io.WriteString(a.ResponseWriter, a.text.String()) // the client may be gone
}
