package console

import (
	"net/url"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
)

// question is what an action needs besides a reason. What it asks for is sent in the body of
// requests, and is in no address.
type question struct {
	label     string
	operation string // "" = that of the noun and the verb
	fields    []form.Field
	// secrets are asked for with the reason, after the preview: a page never has one.
	secrets []form.Field
	// known returns what is so now, nil = nothing is known: the address may say what is meant.
	known func(v *visit, id string) (url.Values, error)
	// body returns the body of the request, nil = the reason. An error that is a problem is about
	// what was written.
	body func(id string, given url.Values, why string) (any, error)
}

// questions are what actions ask for, by the pages of their kind and their verb.
var questions = peopleQuestions

// changed is what a command has changed, or would: of users and keys what is so then.
type changed struct {
	app.Changed
	Secret      string         `json:"secret"` // a key that was made
	DisplayName string         `json:"display_name"`
	Mail        string         `json:"mail"`
	Rights      []people.Right `json:"rights"`
}
