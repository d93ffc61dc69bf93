package httpapi

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/forms"
	"github.com/accession-ingest/accession/cmd/internal/httpapi/internal/tus"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

var update = flag.Bool("update", false, "write docs/openapi.yaml, docs/openapi-3.0.yaml and the table of docs/api.md again")

const (
	descriptionPath = "../../../docs/openapi.yaml"
	olderPath       = "../../../docs/openapi-3.0.yaml"
	pagePath        = "../../../docs/api.md"
	tableBegins     = "<!-- operations -->\n"
	tableEnds       = "<!-- end of operations -->\n"
)

// TestDescription compares docs/openapi.yaml, and its form for programs that read OpenAPI 3.0
// only, with the routes, and each route with its row.
func TestDescription(t *testing.T) {
	t.Parallel()
	_, api := (&Server{Version: "1", Log: slog.New(slog.DiscardHandler)}).API()
	got, err := api.OpenAPI().YAML()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, descriptionPath, got)
	older, err := api.OpenAPI().DowngradeYAML()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, olderPath, older)
	names, routes := map[string]bool{}, map[string]bool{}
	for _, op := range operation.Table() {
		if route := op.Method + " " + op.Path; names[op.Name] || routes[route] {
			t.Errorf("%s, %s is there twice", op.Name, route)
		}
		names[op.Name], routes[op.Method+" "+op.Path] = true, true
		if (op.Need == "") != (op.On == operation.OnSelf || op.On == operation.OnSeen) {
			t.Errorf("%s needs %q on %q", op.Name, op.Need, op.On)
		}
		if writes := op.Method != http.MethodGet && op.Name != "query.answer" && op.Name != "profile.check"; op.Write != writes { // which only send what they ask about
			t.Errorf("%s: %s", op.Name, op.Method)
		}
		if right(op) == "" || strings.Contains(right(op), "%!") {
			t.Errorf("%s: %q", op.Name, right(op))
		}
	}
}

// recording is a mux that knows what it serves.
type recording struct {
	*http.ServeMux
	patterns []string
}

// HandleFunc implements routes.
func (r *recording) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	r.Handle(pattern, http.HandlerFunc(h))
}

// Handle implements routes.
func (r *recording) Handle(pattern string, h http.Handler) {
	r.patterns = append(r.patterns, pattern)
	r.ServeMux.Handle(pattern, h)
}

// undescribed are the routes that the description does not have, with the reason.
var undescribed = map[string]string{
	"GET " + docsPath: "it is the description, for people", "GET /v1/openapi.json": "it is the description", "GET /v1/openapi-3.0.json": "it is the description",
	"GET /v1/openapi.yaml": "it is the description", "GET /v1/openapi-3.0.yaml": "it is the description", "GET /v1/schemas/{schema}": "it is a part of the description",
	inputsRoute: "its addresses are given with work, and are not made by clients",
}

// TestEveryRouteIsDescribed: every route that is served is in the description, and every one in
// it is served.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	mux := &recording{ServeMux: http.NewServeMux()}
	api := (&Server{Version: "1", Log: slog.New(slog.DiscardHandler)}).route(mux)
	in := map[string]bool{}
	for path, item := range api.OpenAPI().Paths {
		for method, o := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete, "HEAD": item.Head, "OPTIONS": item.Options} {
			if o == nil {
				continue
			}
			in[method+" "+path] = true
			if answers := slices.Sorted(maps.Keys(o.Responses)); len(answers) == 0 || answers[0][0] != '2' || o.Responses["401"] == nil {
				t.Errorf("%s %s answers with %v", method, path, answers)
			}
		}
	}
	served := map[string]bool{}
	for _, pattern := range mux.patterns {
		served[pattern] = true
		route := strings.TrimSuffix(pattern, "/{$}")
		if why := undescribed[pattern]; in[route] == (why != "") {
			t.Errorf("%s is described %t, the reason why not is %q", pattern, in[route], why)
		}
	}
	for route := range in {
		if !served[route] {
			t.Errorf("%s is described and not served", route)
		}
	}
	for route := range undescribed {
		if !served[route] {
			t.Errorf("%s is not served", route)
		}
	}
}

// TestPage compares the table of operations in docs/api.md with the rows.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(page, []byte(tableBegins))
	_, after, ended := bytes.Cut(rest, []byte(tableEnds))
	if !ok || !ended {
		t.Fatalf("%s has no table of operations", pagePath)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(tableBegins + "| operation | request | | who |\n|---|---|---|---|\n")
	for _, op := range operation.Table() {
		past := ""
		if op.Past {
			past = " (`?at=`)"
		}
		fmt.Fprintf(&b, "| %s | `%s %s` | %s%s | %s |\n", op.Name, op.Method, op.Path, op.Summary, past, right(op))
	}
	for _, f := range forms.Table() {
		fmt.Fprintf(&b, "| %s | `%s %s` | %s | %s |\n", f.Name, f.Method, f.Path, f.Summary, f.Who)
	}
	for _, r := range tus.Table() {
		fmt.Fprintf(&b, "| %s | `%s %s` | %s | %s |\n", r.Name, r.Method, r.Path, r.Summary, r.Who)
	}
	b.WriteString(tableEnds)
	b.Write(after)
	compare(t, pagePath, b.Bytes())
}

func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(path); err != nil || !bytes.Equal(is, want) {
		t.Errorf("%s is not what the table of operations has (%v): run `make generate`", path, err)
	}
}
