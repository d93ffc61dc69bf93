package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template and stylesheet
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/forms"
	"github.com/accession-ingest/accession/cmd/internal/httpapi/internal/tus"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// docsPath is where the description of the API is a page for people.
const docsPath = "/v1/docs"

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Parse(pageText))
)

// page is the description of the API, for people.
type page struct {
	Title, Version, About string
	Style                 template.CSS
	Nouns                 []*pageNoun
}

// pageNoun is what the requests about one thing are.
type pageNoun struct {
	Name     string
	Requests []pageRequest
}

type pageRequest struct {
	Name, Method, Path, Summary, Who string
	Parameters                       []pageParameter // also the fields of a body that is JSON
	Bodies                           []pageContent
	Answers                          []pageAnswer
}

type pageParameter struct{ Name, In, Is, Doc string }

// pageContent is a media type, with the name of its schema if that has one.
type pageContent struct{ MediaType, Schema string }

type pageAnswer struct {
	Status, Doc string
	Bodies      []pageContent
}

// pageOf returns the page of some operations, described by doc, and of the requests that are
// no operations.
func pageOf(doc *huma.OpenAPI, operations []*operation.Operation) *page {
	p := &page{Title: doc.Info.Title, Version: doc.Info.Version, About: doc.Info.Description, Style: template.CSS(pageStyle)}
	for _, op := range operations {
		r := pageRequest{Name: op.Name, Method: op.Method, Path: op.Path, Summary: op.Summary, Who: right(op)}
		r.describe(doc, described(doc.Paths[op.Path], op.Method))
		p.add(r)
	}
	for _, f := range forms.Table() {
		r := pageRequest{Name: f.Name, Method: f.Method, Path: f.Path, Summary: f.Summary, Who: f.Who}
		r.describe(doc, described(doc.Paths[f.Path], f.Method))
		p.add(r)
	}
	for _, t := range tus.Table() {
		r := pageRequest{Name: t.Name, Method: t.Method, Path: t.Path, Summary: t.Summary, Who: t.Who}
		r.describe(doc, described(doc.Paths[t.Path], t.Method))
		p.add(r)
	}
	return p
}

func (p *page) add(r pageRequest) {
	name := noun(r.Name)
	i := slices.IndexFunc(p.Nouns, func(n *pageNoun) bool { return n.Name == name })
	if i < 0 {
		i = len(p.Nouns)
		p.Nouns = append(p.Nouns, &pageNoun{Name: name})
	}
	p.Nouns[i].Requests = append(p.Nouns[i].Requests, r)
}

// described returns the description of an operation.
func described(of *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodPost:
		return of.Post
	case http.MethodPut:
		return of.Put
	case http.MethodPatch:
		return of.Patch
	case http.MethodDelete:
		return of.Delete
	case http.MethodHead:
		return of.Head
	case http.MethodOptions:
		return of.Options
	}
	return of.Get
}

// describe adds what the description says of a request.
func (r *pageRequest) describe(doc *huma.OpenAPI, o *huma.Operation) {
	for _, p := range o.Parameters {
		r.Parameters = append(r.Parameters, pageParameter{p.Name, p.In, typeOf(p.Schema, p.Required), p.Description})
	}
	if o.RequestBody != nil {
		r.Bodies = contents(o.RequestBody.Content)
		names, s := bodyFields(doc, o)
		for _, name := range names {
			field := s.Properties[name]
			r.Parameters = append(r.Parameters, pageParameter{name, "body", typeOf(field, slices.Contains(s.Required, name)), field.Description})
		}
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		answer := o.Responses[status]
		r.Answers = append(r.Answers, pageAnswer{status, answer.Description, contents(answer.Content)})
	}
}

func contents(of map[string]*huma.MediaType) (all []pageContent) {
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		c := pageContent{MediaType: kind}
		if s := of[kind].Schema; s != nil {
			c.Schema = refName(s)
		}
		all = append(all, c)
	}
	return all
}

// refName returns the name of the schema that s stands for, "" = it is itself one.
func refName(s *huma.Schema) string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// typeOf says what a value is, and within which bounds.
func typeOf(s *huma.Schema, required bool) string {
	kind := s.Type
	switch {
	case s.Ref != "":
		kind = refName(s)
	case s.Type == huma.TypeArray && s.Items != nil:
		kind = "list of " + typeOf(s.Items, false)
	case s.Format != "":
		kind += ", " + s.Format
	}
	for i, value := range s.Enum {
		word := " or "
		if i == 0 {
			word = ", one of "
		}
		kind += word + fmt.Sprint(value)
	}
	for _, bound := range []struct {
		text string
		at   *float64
	}{{"from", s.Minimum}, {"at most", s.Maximum}} {
		if bound.at != nil {
			kind += fmt.Sprintf(", %s %.0f", bound.text, *bound.at)
		}
	}
	if s.MaxLength != nil {
		kind += fmt.Sprintf(", at most %d characters", *s.MaxLength)
	}
	if s.Default != nil {
		kind += fmt.Sprintf(", default %v", s.Default)
	}
	if required {
		kind += ", required"
	}
	return kind
}

// html returns the page as it is sent.
func (p *page) html() ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, p)
	return b.Bytes(), err
}

// pagePolicy lets a browser take nothing from anywhere, and of styles only that of the page.
func pagePolicy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// docs serves the page, which is made once.
func docs(doc *huma.OpenAPI) http.HandlerFunc {
	made := sync.OnceValues(func() ([]byte, error) { return pageOf(doc, operation.Table()).html() })
	policy := pagePolicy()
	return func(w http.ResponseWriter, _ *http.Request) {
		html, err := made()
		if err != nil {
			panic(fmt.Sprintf("page of the API: %v", err)) // a fault of the template
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = w.Write(html) // the client may be gone
	}
}
