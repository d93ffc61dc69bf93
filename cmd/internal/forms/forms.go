// Package forms takes deposits and queries by the forms that clients of other services send:
// multipart forms with names and passwords among their fields, and files behind them. What a
// form asks for is a use case of package app.
package forms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// Form is a row of the table of forms.
type Form struct {
	Name    string // as it is audited
	Method  string
	Path    string
	Summary string
	Who     string // may send it
	Write   bool   // it deposits something

	answer  func(*Exchange) error
	fields  []Field
	replies []Reply
}

// Answer answers a request. Of a request that is refused nothing was sent yet, and the
// error, one of package app, says why.
func (f *Form) Answer(e *Exchange) error { return f.answer(e) }

// Table returns the forms.
func Table() []*Form {
	const deposits = "Needs the role depositor or admin in the collection."
	return []*Form{
		{"form.deposit", http.MethodPost, "/servlet/deposit", "Deposit a metadata file, or ask about a list of identifiers, as Crossref's clients do", deposits + " A list every user may send: only what the user may see is found.", true, queued, depositFields, received200},
		{"form.deposit-synchronous", http.MethodPost, "/v2/deposits", "Deposit a metadata file and wait for its diagnostic", deposits, true, atOnce, depositFields, diagnostic200},
		{"form.status", http.MethodGet, "/servlet/submissionDownload", "Show what became of what a form has sent, or send its file again", "Every user may: of the own deposits.", false, status, statusAsked, status200},
		{"form.status-posted", http.MethodPost, "/servlet/submissionDownload", "The same, with the names in a form, as clients send it that keep passwords out of URLs", "Every user may: of the own deposits.", false, status, statusAsked, status200},
		{"form.object-ingest", http.MethodPost, "/object/ingest", "Deposit a file, a container or a manifest, as clients of Merritt do", deposits, true, ingests, merrittSent, merritt200},
		{"form.object-update", http.MethodPost, "/object/update", "Deposit new versions of objects, as clients of Merritt do", deposits, true, updates, merrittSent, merritt200},
		{"form.poster-submit", http.MethodPost, "/poster/submit", "Deposit as clients of Merritt's ingest service do", deposits, true, ingests, merrittSent, merritt200},
		{"form.poster-update", http.MethodPost, "/poster/update", "Deposit new versions as clients of Merritt's ingest service do", deposits, true, updates, merrittSent, merritt200},
	}
}

// Authenticator knows users and programs, as [people.People] does.
type Authenticator interface {
	Authenticate(ctx context.Context, c people.Credential, address string) (caller access.Caller, via string, err error)
}

// Exchange is a request of a form, with its answer.
type Exchange struct {
	App    *app.App // its actor is the caller, once that is known
	People Authenticator
	From   string            // the address that the request comes from
	Header people.Credential // what the header of the request proves its caller by
	W      http.ResponseWriter
	R      *http.Request

	// By is the caller as it is audited; without a name as long as it is not known. On is
	// what the request was about.
	By      people.By
	On      string
	caller  access.Caller
	counted []string // what had room: deposits, queries
}

// Names of the fields that a caller is known by.
const (
	fieldUser     = "login_id"
	fieldPassword = "login_passwd"
)

// signIn finds out who sends the request: by its header, or else by its fields. What follows
// a slash in the name, which is the role of Crossref's clients, is not looked at.
func (e *Exchange) signIn(fields map[string]string) error {
	name, _, _ := strings.Cut(fields[fieldUser], "/")
	c := e.Header
	if c == (people.Credential{}) {
		c = people.Credential{Name: name, Password: fields[fieldPassword]}
	}
	caller, via, err := e.People.Authenticate(e.R.Context(), c, e.From)
	if err != nil {
		return err
	}
	e.caller, e.By = caller, people.By{Name: caller.Name, Via: via, Address: e.From}
	e.App.Actor = domain.UserActor(caller.Name)
	return nil
}

// known signs in before the body is read, if what was sent so far is enough for that.
func (e *Exchange) known(fields map[string]string) (bool, error) {
	if e.Header == (people.Credential{}) && (fields[fieldUser] == "" || fields[fieldPassword] == "") {
		return false, nil
	}
	return true, e.signIn(fields)
}

// same refuses a form whose fields name another user than its header.
func (e *Exchange) same(fields map[string]string) error {
	if name, _, _ := strings.Cut(fields[fieldUser], "/"); name != "" && name != e.caller.Name {
		return invalid("leave one of them out", "the field %s names %.80q, and the header of the request another user", fieldUser, name)
	}
	return nil
}

// receiver returns what takes files.
func (e *Exchange) receiver() *drops.Receiver {
	return &drops.Receiver{App: e.App, Most: e.App.Open.UploadLimit, Waiting: e.App.Open.WaitingLimit}
}

// allowed returns the deposit if the caller may make it.
func (e *Exchange) allowed(a operation.About) (app.Deposit, error) {
	d, err := a.Allowed(&operation.Call{App: e.App, Caller: e.caller, By: e.By})
	if fault, ok := errors.AsType[*app.Error](err); ok && fault.What == "" {
		fault.What = "deposit"
	}
	return d, err
}

func invalid(hint, format string, args ...any) error {
	return &app.Error{Kind: app.Invalid, What: "read the form", Err: fmt.Errorf(format, args...), Hint: hint}
}
