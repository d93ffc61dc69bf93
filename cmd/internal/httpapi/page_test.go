package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/forms"
	"github.com/accession-ingest/accession/cmd/internal/httpapi/internal/tus"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// inRequest answers a request without a body, and without a caller.
func inRequest(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return w
}

// TestPageOfTheAPI: every request that is served is on the page, with an anchor that the list
// on top links to, who may send it, and each parameter and status that its description has.
func TestPageOfTheAPI(t *testing.T) {
	t.Parallel()
	w := inRequest(handlerOf(t, io.Discard), http.MethodGet, docsPath)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	html := w.Body.String()
	top, rest, ok := strings.Cut(html, "</nav>")
	if !ok {
		t.Fatal("there is no list on top")
	}
	articles := map[string]string{}
	for _, text := range strings.Split(rest, "<article id=\"")[1:] {
		name, text, _ := strings.Cut(text, `"`)
		articles[name], _, _ = strings.Cut(text, "</article>")
	}
	n := 0
	has := func(name, method, path, summary, who string, more ...string) {
		n++
		if !strings.Contains(top, `<a href="#`+name+`">`) || !strings.Contains(top, `<a href="#`+noun(name)+`">`) || !strings.Contains(rest, `<section id="`+noun(name)+`">`) {
			t.Errorf("%s is not in the list on top", name)
		}
		for _, text := range append(more, method+" "+path, summary, who) {
			if text = template.HTMLEscapeString(text); !strings.Contains(strings.ReplaceAll(articles[name], "&#43;", "+"), text) {
				t.Errorf("%s does not say %q: %s", name, text, articles[name])
			}
		}
	}
	_, api := (&Server{Version: "test"}).API()
	more := func(method, path string) (texts []string) {
		o := described(api.OpenAPI().Paths[path], method)
		for _, p := range o.Parameters {
			texts = append(texts, p.Name, p.Description)
		}
		for status := range o.Responses {
			texts = append(texts, status)
		}
		return texts
	}
	for _, op := range operation.Table() {
		has(op.Name, op.Method, op.Path, op.Summary, right(op), more(op.Method, op.Path)...)
	}
	for _, f := range forms.Table() {
		has(f.Name, f.Method, f.Path, f.Summary, f.Who, more(f.Method, f.Path)...)
	}
	for _, r := range tus.Table() {
		has(r.Name, r.Method, r.Path, r.Summary, r.Who, more(r.Method, r.Path)...)
	}
	if n != len(articles) {
		t.Errorf("%d requests on the page, want %d", len(articles), n)
	}
	for _, text := range []string{"<td>body</td><td>string, at most 500 characters</td>", "default 50", "one of reader or depositor", `<a href="/v1/schemas/Problem.json">`, "list of string"} {
		if !strings.Contains(html, text) {
			t.Errorf("the page does not say %s", text)
		}
	}
}

// TestPageTakesNothing: a browser that shows the page runs no script, takes nothing from
// elsewhere, and of styles only that of the page.
func TestPageTakesNothing(t *testing.T) {
	t.Parallel()
	w := inRequest(handlerOf(t, io.Discard), http.MethodGet, docsPath)
	html := w.Body.String()
	_, style, _ := strings.Cut(html, "<style>")
	style, _, ok := strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := w.Header()["Content-Security-Policy"]; !ok || style == "" || !slices.Equal(got, []string{want}) {
		t.Errorf("the policy is %q, want %q", got, want)
	}
	for _, text := range []string{"<script", " style=", " src=", "<link", "<form", "<iframe", "javascript:", `href="http`, `href="//`, "ZgotmplZ"} {
		if strings.Contains(html, text) {
			t.Errorf("the page has %s", text)
		}
	}
	if strings.Contains(style, "@import") || strings.Contains(style, "url(") {
		t.Errorf("the stylesheet takes something from elsewhere: %s", style)
	}
	if got := inRequest(handlerOf(t, io.Discard), http.MethodGet, "/v1/openapi.json").Header().Get("Content-Security-Policy"); got != "default-src 'none'; frame-ancestors 'none'" {
		t.Errorf("the policy of what is no page is %q", got)
	}
}

// TestPageEscapes: what stands in the table and the description is text on the page.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	const text = `</td><script>alert("1")</script>&amp;`
	_, api := (&Server{Version: text}).API()
	op := *operation.Named("batch.ls")
	o := described(api.OpenAPI().Paths[op.Path], op.Method)
	o.Parameters[0].Description, o.Parameters[0].Name, o.Responses["200"].Description = text, text, text
	o.Parameters[0].Schema.Enum = []any{text}
	op.Name, op.Summary = `x" onclick="y`+text, text
	html, err := pageOf(api.OpenAPI(), []*operation.Operation{&op}).html()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(html), "&lt;script&gt;"); n < 9 || strings.Contains(string(html), "<script") || strings.Contains(string(html), `x" onclick`) {
		t.Errorf("%d texts are escaped: %s", n, html)
	}
}

// TestRoutesWithoutCaller: the description needs no caller, and every other request does.
func TestRoutesWithoutCaller(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, io.Discard)
	open := []string{"GET " + docsPath, "HEAD " + docsPath, "GET /v1/openapi.json", "GET /v1/openapi.yaml", "GET /v1/openapi-3.0.json", "GET /v1/openapi-3.0.yaml",
		"GET /v1/schemas/Problem.json", "OPTIONS " + tus.Path}
	for _, route := range open {
		method, path, _ := strings.Cut(route, " ")
		if w := inRequest(h, method, path); w.Code >= 300 {
			t.Errorf("%s: %d %s", route, w.Code, w.Body)
		}
	}
	closed := []string{}
	for _, op := range operation.Table() {
		closed = append(closed, op.Method+" "+op.Path)
	}
	for _, r := range tus.Table() {
		closed = append(closed, r.Method+" "+r.Path)
	}
	for _, route := range closed {
		method, path, _ := strings.Cut(strings.NewReplacer("{", "", "}", "").Replace(route), " ")
		if w := inRequest(h, method, path); w.Code != http.StatusUnauthorized && !slices.Contains(open, route) {
			t.Errorf("%s: %d %s", route, w.Code, w.Body)
		}
	}
	for _, path := range []string{docsPath + "/", docsPath + "/batches", "/v1/openapi/../batches", "/v1/docs/../batches"} {
		if w := inRequest(h, http.MethodGet, path); w.Code != http.StatusNotFound && w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
