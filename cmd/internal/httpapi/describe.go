package httpapi

import (
	"fmt"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/access"
)

// noun returns what an operation is about: its name up to the dot.
func noun(name string) string {
	n, _, _ := strings.Cut(name, ".")
	return n
}

// rightTexts says what an operation needs.
var rightTexts = map[operation.On]string{
	operation.OnSelf:         "Every user may.",
	operation.OnSeen:         "Every user may: what the user may not see is left out.",
	operation.OnThing:        "Needs %s in the collection that it belongs to.",
	operation.OnObject:       "Needs %s in the collection that it belongs to, or to have deposited the version.",
	operation.OnCollection:   "Needs %s in the collection.",
	operation.OnNamed:        "Of a batch every user may who sees it; of a dataset it needs %s in its collection, without both in all. As of a moment every user may have collections, failures and submitters, which then count what they see.",
	operation.OnSome:         "Needs %s in a collection: what it is about is limited to those.",
	operation.OnInstallation: "Needs %s in all collections.",
}

// roles names the roles that have what an operation needs.
var roles = map[access.Need]string{
	access.See:        "the role reader, operator or admin",
	access.Deposit:    "the role depositor or admin",
	access.Act:        "the role operator or admin",
	access.Administer: "the role admin",
}

// right says in a sentence who may request an operation.
func right(op *operation.Operation) string {
	text := rightTexts[op.On]
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, roles[op.Need])
	}
	if op.On == operation.OnObject && op.Need != access.See {
		text = strings.TrimSuffix(text, ", or to have deposited the version.") + "."
	}
	if op.On == operation.OnThing && op.Need == access.See {
		text = strings.TrimSuffix(text, ".") + ", or to have deposited it."
	}
	return text
}

func describe(op *operation.Operation) string {
	return op.Summary + ". " + right(op)
}

// failures are the statuses of problems that an operation may answer with.
func failures(op *operation.Operation) []int {
	all := []int{http.StatusBadRequest, http.StatusUnauthorized}
	if op.Need != "" {
		all = append(all, http.StatusForbidden)
	}
	all = append(all, http.StatusNotFound)
	if op.Write {
		all = append(all, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity)
	}
	if op.Awaits {
		all = append(all, http.StatusConflict)
	}
	if ranges(op) && op.On == operation.OnObject {
		all = append(all, http.StatusGone)
	}
	if ranges(op) {
		all = append(all, http.StatusRequestedRangeNotSatisfiable)
	}
	return append(all, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable)
}

// sends are the answers of an operation that are not its output as JSON.
func sends(op *operation.Operation) map[string]*huma.Response {
	content := map[string]*huma.MediaType{}
	for _, kind := range op.Sends {
		schema := &huma.Schema{Type: huma.TypeString}
		if kind == "application/json" {
			schema.Type = huma.TypeObject
		}
		content[kind] = &huma.MediaType{Schema: schema}
	}
	all := map[string]*huma.Response{"200": {Description: "OK", Content: content}}
	if ranges(op) {
		all["206"] = &huma.Response{Description: "The range", Content: content}
		all["304"] = &huma.Response{Description: "It is the one that you have"}
	}
	return all
}

// ranges reports whether an operation sends ranges of a file.
func ranges(op *operation.Operation) bool {
	_, ok := op.Input.FieldByName("Range")
	return ok
}

// plain are the packages whose types keep their names in the description of the API.
var plain = []string{"app", "operation", "problem", "pgdb", "query", "status"}

// schemaName returns the name of a type in the description of the API: with that of its
// package, unless it is one of the plain ones.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if p := path.Base(t.PkgPath()); t.Name() != "" && t.PkgPath() != "" && !slices.Contains(plain, p) {
		name = strings.ToUpper(p[:1]) + p[1:] + name
	}
	return name
}
