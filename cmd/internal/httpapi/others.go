package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/forms"
	"github.com/accession-ingest/accession/cmd/internal/httpapi/internal/tus"
)

// describeOthers adds the requests that are no operations to a description: forms, and those
// of uploads that come in pieces.
func describeOthers(doc *huma.OpenAPI) {
	for _, f := range forms.Table() {
		doc.AddOperation(ofForm(f))
	}
	for _, r := range tus.Table() {
		doc.AddOperation(ofPieces(r))
	}
}

// ofForm describes a form. Its caller may be named by its fields alone.
func ofForm(f *forms.Form) *huma.Operation {
	o := other(f.Name, f.Method, f.Path, f.Summary, f.Who)
	properties := map[string]*huma.Schema{}
	signs := false
	for _, field := range f.Fields() {
		s := &huma.Schema{Type: huma.TypeString, Description: field.Doc}
		if field.File {
			s.Format = "binary"
		}
		properties[field.Name] = s
		signs = signs || field.Name == "login_id"
		if f.Method == http.MethodGet {
			o.Parameters = append(o.Parameters, &huma.Param{Name: field.Name, In: "query", Description: field.Doc, Schema: &huma.Schema{Type: huma.TypeString}})
		}
	}
	if signs {
		o.Security = []map[string][]string{{"key": {}}, {"password": {}}, {}}
	}
	if f.Method == http.MethodPost {
		kind := "application/x-www-form-urlencoded"
		if f.Write {
			kind = "multipart/form-data"
		}
		o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{kind: {Schema: &huma.Schema{Type: huma.TypeObject, Properties: properties}}}}
	}
	for _, r := range f.Replies() {
		answer := &huma.Response{Description: r.Doc, Content: map[string]*huma.MediaType{}}
		for _, kind := range r.MediaTypes {
			s := &huma.Schema{Type: huma.TypeString}
			if kind == "application/json" {
				s.Type = huma.TypeObject
			}
			answer.Content[kind] = &huma.MediaType{Schema: s}
		}
		o.Responses[strconv.Itoa(r.Status)] = answer
	}
	return o
}

// ofPieces describes a request of an upload that comes in pieces.
func ofPieces(r tus.Route) *huma.Operation {
	o, d := other(r.Name, r.Method, r.Path, r.Summary, r.Who), r.Described()
	if r.Method == http.MethodOptions {
		o.Security = []map[string][]string{{}}
	} else if r.Path != tus.Path {
		o.Parameters = append(o.Parameters, &huma.Param{Name: "id", In: "path", Required: true, Description: "Id of the upload", Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, h := range d.Takes {
		o.Parameters = append(o.Parameters, &huma.Param{Name: h.Name, In: "header", Required: h.Required, Description: h.Doc, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if d.Body != "" {
		o.RequestBody = &huma.RequestBody{Required: r.Method == http.MethodPatch, Description: "A piece of the file", Content: map[string]*huma.MediaType{
			d.Body: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}
	}
	answer := &huma.Response{Description: d.Doc, Headers: map[string]*huma.Param{}}
	for _, h := range d.Has {
		answer.Headers[h.Name] = &huma.Header{Description: h.Doc, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	o.Responses[strconv.Itoa(d.Status)] = answer
	return o
}

// other describes a request that is no operation, and its problems.
func other(name, method, path, summary, who string) *huma.Operation {
	o := &huma.Operation{OperationID: name, Method: method, Path: path, Summary: summary, Description: summary + ". " + who, Tags: []string{noun(name)}, Responses: map[string]*huma.Response{}}
	for _, status := range otherFailures {
		o.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/Problem"}}}}
	}
	return o
}

// otherFailures are the statuses of problems with forms and pieces.
var otherFailures = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed,
	http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusLocked, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusNotImplemented, http.StatusServiceUnavailable}

// bodyFields returns the fields of a body, by their names.
func bodyFields(doc *huma.OpenAPI, o *huma.Operation) (names []string, of *huma.Schema) {
	for _, kind := range []string{"application/json", "multipart/form-data", "application/x-www-form-urlencoded"} {
		if body := o.RequestBody.Content[kind]; body != nil {
			of = body.Schema
			if of.Ref != "" {
				of = doc.Components.Schemas.SchemaFromRef(of.Ref)
			}
			return slices.Sorted(maps.Keys(of.Properties)), of
		}
	}
	return nil, nil
}
