// Package question has what actions of the console ask for besides a reason: the fields of their
// forms, and the body of the request that these make.
package question

import (
	"net/url"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Question is what an action needs besides a reason. What it asks for is sent in the body of
// requests, and is in no address. Its zero value asks for the reason alone.
type Question struct {
	Label     string // "" = the verb
	Operation string // "" = that of the noun and the verb
	Fields    []form.Field
	// Secrets are asked for with the reason, after the preview: a page never has one.
	Secrets []form.Field
	// Known returns what is so now, nil = nothing is known: the address may say what is meant.
	Known func(v *ask.Visit, id string) (url.Values, error)
	// Body returns the body of the request, nil = the reason. An error that is a problem is about
	// what was written.
	Body func(id string, given url.Values, why string) (any, error)
}

// Of returns what an action asks for, by the pages of its kind and its verb.
func Of(kind, verb string) Question { return ofPeople[kind+"/"+verb] }

// Reason returns the body of a request that needs a reason alone.
func Reason(why string) any { return operation.Reason{Reason: strings.TrimSpace(why)} }
