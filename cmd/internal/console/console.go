// Package console is where people look in a browser. Its pages ask operations of the API, as any
// program does and with the rights of who is signed in, and show what these answer: it has no SQL
// and no rules of its own. Without script every page reads and every form works.
package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	design "github.com/accession-ingest/accession/cmd/internal/page"
	"github.com/accession-ingest/accession/domain/access"
)

// Path is below which the pages are.
const Path = "/console/"

// Policy lets a browser take scripts and styles of these pages from where they come from, and
// nothing else from anywhere.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Console serves the pages.
type Console struct {
	// API answers requests of operations: for who is signed in, or for whom the header of the
	// request names.
	API     http.Handler
	Version string
	Log     *slog.Logger
	// RequestID returns the id of a request, which the log has.
	RequestID func(*http.Request) string
	// OpenID signs people in, nil = only names and passwords do; From returns the address that a
	// request comes from.
	OpenID OpenID
	From   func(*http.Request) string
}

// Route is what one pattern of the mux is answered by.
type Route struct {
	Pattern string
	Handler http.Handler
	// Open says that everyone may send it: nothing of what is deposited is in its answer.
	Open bool
}

// Routes returns the pages, and what they are made of.
func (c *Console) Routes() []Route {
	all := []Route{
		{"GET " + Path + "sign-in", c.page(c.signIn), true},
		{"POST " + Path + "sign-in", http.HandlerFunc(c.begin), true},
		{"GET " + openIDPath, http.HandlerFunc(c.beginOpenID), true},
		{"GET " + OpenIDDone, http.HandlerFunc(c.finishOpenID), true},
		{"POST " + Path + "sign-out", http.HandlerFunc(c.end), true},
		{"GET " + Path + "static/{digest}/{name}", http.HandlerFunc(static), true},
		{"GET " + Path + "stream", http.HandlerFunc(c.events), false},
		{"GET " + Path + "reports/{name}", http.HandlerFunc(c.report), false},
		{"POST " + Path + "new", http.HandlerFunc(c.deposit), false},
		{"POST " + uploadsPath, http.HandlerFunc(c.pieces), false},
		{"PATCH " + uploadsPath + "/{id}", http.HandlerFunc(c.pieces), false},
		{"HEAD " + uploadsPath + "/{id}", http.HandlerFunc(c.pieces), false},
		{Path, c.page(nowhere), false},
	}
	for pattern, show := range map[string]func(*visit) (page, error){
		"{$}": c.overview, "batches": c.batches, "batches/{id}": c.batch, "batches/{id}" + retriesPath: c.retries, "batches/{id}" + callbacksPath: c.callbacks, "jobs": c.jobs, "jobs/{id}": c.job, "failures": c.failures, "events": c.history,
		"files": c.files, "files/{id}": c.file, "queues": c.queues, "servers": c.servers, "bulk": c.bulks, "bulk/{id}": c.bulk,
		"new": c.newDeposit, "deposits/{id}": c.uploaded, "reports": c.reports, "more": c.more,
	} {
		all = append(all, Route{"GET " + Path + pattern, c.page(show), false})
	}
	for name, write := range map[string]func(*visit, http.ResponseWriter) error{"batches": batchColumns.Download, "batches/{id}" + retriesPath: attemptColumns.Download, "batches/{id}" + callbacksPath: callbackColumns.Download, "jobs": jobColumns.Download, "files": fileColumns.Download} {
		all = append(all, Route{"GET " + Path + name + ".csv", c.download(write), false})
	}
	all = append(all, Route{"GET " + Path + "events.csv", c.download(eventsFile), false})
	all = append(all, Route{"GET " + Path + "bulk.csv", c.download(bulkColumns.Download), false}, Route{"GET " + Path + "bulk/{id}/items.csv", c.download(bulkItemColumns.Download), false}, Route{"GET " + Path + "failures.csv", c.download(failuresCSV.Download), false})
	all = append(append(all, c.things()...), c.newUserRoutes()...)
	for _, f := range c.further() {
		all = append(all, Route{"GET " + Path + f.name, c.page(f.show), false}, Route{"GET " + Path + f.name + ".csv", f.download, false})
	}
	for kind, of := range question.Actions {
		if len(of.All) > 0 {
			all = append(all, Route{"GET " + Path + kind + "/all", c.page(c.previewMany(kind)), false}, Route{"POST " + Path + kind + "/all", c.beginMany(kind), false})
		}
		at := Path + kind + "/{id}/do/{verb}"
		if kind == question.New {
			at = Path + kind + "/{verb}"
		}
		all = append(all, Route{"GET " + at, c.page(c.preview(kind)), false}, Route{"POST " + at, c.form(c.carryOut(kind)), false})
	}
	return all
}

// visit is a request of a page.
type visit = ask.Visit

// page is a page as its template takes it.
type page struct {
	Name   string // of its template
	Title  string
	Where  string // which entry of the navigation it belongs to
	Status int    // 0 = 200
	To     string // where the way leads on, "" = the page is shown
	Follow string // which events change it, as parameters of the stream; "" = none
	Moment string // what the way to the overview of the moment that is shown ends with, "" = it is now
	Again  bool   // not all that changes it has events: it is read again at an interval
	Data   any
	Tables *table.Within // those within it, nil = there are none

	// Of every page.
	Self    people.Self
	Version string
	Here    string // its own address
	All     bool   // the caller sees what belongs to no collection
	Acts    bool   // the caller acts on something
	Sends   bool   // the caller deposits
}

//go:embed templates static
var files embed.FS

// templates are the pages, each with the layout and what they share.
var templates = sync.OnceValues(func() (map[string]*template.Template, error) {
	shared, err := template.New("layout.html").Funcs(cell.Functions).Funcs(functions).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "templates/*.html")
	all := map[string]*template.Template{}
	for _, name := range names {
		short := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		if short == "layout" || short == "parts" || err != nil {
			continue
		}
		if all[short], err = shared.Clone(); err == nil {
			_, err = all[short].ParseFS(files, name)
		}
	}
	return all, err
})

// functions are those of the layout.
var functions = template.FuncMap{
	"static": func(name string) string { return Path + "static/" + digest() + "/" + name },
	"entry": func(name, to, label, where string) map[string]any {
		return map[string]any{"To": to, "Label": label, "Here": name == where}
	},
}

// page returns what shows a page, or why it cannot be shown.
func (c *Console) page(show func(*visit) (page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Request: r, API: c.API}
		p, err := page{}, error(nil)
		if !isOpen(r) {
			v.Self, err = ask.Get[people.Self](v, "self.show", nil)
		}
		if err == nil {
			p, err = show(v)
		}
		if in := p.Tables; err == nil && in != nil {
			if err = in.Err(); err == nil && in.To != "" {
				p = page{To: in.To, Status: http.StatusSeeOther}
			} else if send := in.File(); err == nil && send != nil {
				send(w)
				return
			}
		}
		if err != nil {
			p = c.failed(r, err)
		}
		p.Self = v.Self
		c.send(w, r, p)
	})
}

// download returns what sends a file, or the page of why it cannot be made.
func (c *Console) download(write func(*visit, http.ResponseWriter) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := write(&visit{Request: r, API: c.API}, w); err != nil {
			c.send(w, r, c.failed(r, err))
		}
	})
}

// isOpen reports whether a request is one that is answered without who sends it.
func isOpen(r *http.Request) bool { return r.URL.Path == Path+"sign-in" }

// failed returns the page of an error: what is wrong and what to do, in the words of the command
// line and of the API.
func (c *Console) failed(r *http.Request, err error) page {
	var p *problem.Problem
	if !errors.As(err, &p) {
		p = problem.ForCaller(err, c.RequestID(r))
		if waits := r.Context().Err() == nil || !errors.Is(err, context.Canceled); waits && p.Status >= http.StatusInternalServerError {
			c.Log.Error("a page cannot be shown", "path", r.URL.Path, "request", c.RequestID(r), "error", err)
		}
	}
	return page{Name: "problem", Title: p.Title, Status: p.Status, Data: p}
}

// Refuse answers a request of a page of which it is not known who sends it: by the page to sign in,
// from which the way leads back, or by the page of the error.
func (c *Console) Refuse(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	if p.Status == http.StatusUnauthorized && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		http.Redirect(w, r, signInPath(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	c.send(w, r, c.failed(r, p))
}

// events streams events to a page that follows them, as the API does to any program.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	v := &visit{Request: r, API: c.API}
	stream, err := v.Operation("event.follow", r.URL.Query())
	if err != nil {
		c.send(w, r, c.failed(r, err))
		return
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		stream.Header.Set("Last-Event-ID", last)
	}
	c.API.ServeHTTP(w, stream)
}

// nowhere is the page of an address that there is not.
func nowhere(*visit) (page, error) {
	return page{}, problem.Of(app.NotFound, "there is no such page", "the entries at the top lead to all there are")
}

// send sends a page whole: nothing of one whose template fails.
func (c *Console) send(w http.ResponseWriter, r *http.Request, p page) {
	if p.To != "" {
		http.Redirect(w, r, p.To, p.Status)
		return
	}
	p.Sends = mayDeposit(p.Self)
	p.Version, p.Here, p.All, p.Acts = c.Version, r.URL.RequestURI(), everywhere(p.Self), mayAct(&visit{Self: p.Self}, "")
	all, err := templates()
	var text bytes.Buffer
	if err == nil {
		err = all[p.Name].ExecuteTemplate(&text, "layout.html", p)
	}
	if err != nil {
		panic(fmt.Sprintf("page %s: %v", p.Name, err)) // a fault of the template
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", Policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if p.Status != 0 {
		w.WriteHeader(p.Status)
	}
	_, _ = w.Write(text.Bytes()) // the client may be gone
}

// everywhere reports whether a user sees what belongs to no collection: queues and servers.
func everywhere(s people.Self) bool {
	for _, r := range s.Rights {
		if r.All && r.Role != access.Depositor {
			return true
		}
	}
	return false
}

// mediaTypes are those of the files that pages are made of.
var mediaTypes = map[string]string{"console.css": "text/css; charset=utf-8", "console.js": "text/javascript; charset=utf-8", "deposit.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}

// digest is that of the files that pages are made of: it is in their addresses, so that a
// browser keeps them until they change.
var digest = sync.OnceValue(func() string {
	sum := sha256.New()
	for _, name := range []string{"console.css", "console.js", "deposit.js", "icon.svg"} {
		text, err := made(name)
		if err != nil {
			panic(err) // a fault of the build
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
})

// made returns a file that pages are made of: the stylesheet begins with the design of all that
// people read.
func made(name string) ([]byte, error) {
	text, err := files.ReadFile("static/" + name)
	if name == "console.css" {
		text = append([]byte(design.Design), text...)
	}
	return text, err
}

// static sends a file that pages are made of.
func static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, err := made(name)
	if err != nil || mediaTypes[name] == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mediaTypes[name])
	if r.PathValue("digest") == digest() {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(text) // the client may be gone
}
