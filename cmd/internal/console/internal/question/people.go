package question

import (
	"net/url"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/access"
)

// roles are those that a right has, as a form has them.
var roles = []string{string(access.Reader), string(access.Depositor), string(access.Operator), string(access.Admin)}

// said are the fields of what is said of a user.
var said = []form.Field{{Name: "display_name", Label: "Name, as people call the user", Most: 200}, {Name: "mail", Label: "Mail address", Most: 200}}

// right are the fields of a right.
var right = []form.Field{{Name: "role", Label: "Role", Kind: "choice", Choices: roles, Note: "A reader sees, a depositor deposits and sees the own deposits, an operator sees and acts, an admin may do everything everywhere."},
	{Name: "collections", Label: "Collections, one on each line", Kind: "lines", Most: 8000}, {Name: "all", Label: "In all collections, those of the future too", Kind: "check"}}

// ofPeople are what commands about users ask for.
var ofPeople = map[string]Question{
	"people/add": {Label: "Add a user", Fields: append([]form.Field{{Name: "name", Label: "User", Most: 64, Needed: true, Note: "1 to 64 of a-z, 0-9, dot, underscore, at sign and hyphen: the user signs in with it, and is the depositor of its deposits."}}, said...),
		Body: func(_ string, given url.Values, why string) (any, error) {
			var in operation.NewUser
			in.Body.Name, in.Body.DisplayName, in.Body.Mail, in.Body.Reason = form.Text(given, "name"), form.Text(given, "display_name"), form.Text(given, "mail"), why
			return in.Body, nil
		}},
	"people/set": {Label: "Change name or mail", Fields: said, Known: func(v *ask.Visit, id string) (url.Values, error) {
		u, err := ask.Get[people.User](v, "user.show", nil, id)
		return url.Values{"display_name": {u.DisplayName}, "mail": {u.Mail}}, err
	}, Body: func(_ string, given url.Values, why string) (any, error) {
		var in operation.UserSet
		name, mail := form.Text(given, "display_name"), form.Text(given, "mail")
		in.Body.DisplayName, in.Body.Mail, in.Body.Reason = &name, &mail, why
		return in.Body, nil
	}},
	"people/identity": {Label: "Change the sign-in by OpenID Connect", Operation: "user.set", Fields: []form.Field{{Name: "issuer", Label: "Issuer, as the setting openid_issuer has it", Most: 1000},
		{Name: "subject", Label: "Subject of the person who signs in as the user", Most: 255, Note: "The page of a refused sign-in and the audit show it. With both empty no person signs in so."}},
		Known: func(v *ask.Visit, id string) (url.Values, error) {
			u, err := ask.Get[people.User](v, "user.show", nil, id)
			if err != nil || u.OpenID == nil {
				return nil, err
			}
			return url.Values{"issuer": {u.OpenID.Issuer}, "subject": {u.OpenID.Subject}}, nil
		}, Body: func(_ string, given url.Values, why string) (any, error) {
			var in operation.UserSet
			in.Body.OpenID, in.Body.Reason = &people.Identity{Issuer: form.Text(given, "issuer"), Subject: form.Text(given, "subject")}, why
			return in.Body, nil
		}},
	"people/password": {Label: "Set the password", Secrets: []form.Field{{Name: "password", Label: "Password", Kind: "password", Most: 256, Needed: true}, {Name: "again", Label: "Once more", Kind: "password", Most: 256, Needed: true}},
		Body: passwordIn},
	"people/grant":    {Label: "Grant a right", Fields: right, Body: rightIn},
	"people/withdraw": {Label: "Withdraw a right", Fields: right, Body: rightIn},
	"people/key": {Label: "Make an API key", Operation: "key.add", Fields: []form.Field{{Name: "label", Label: "What it is for", Most: 200}, {Name: "roles", Label: "Only as", Kind: "choices", Choices: roles, Note: "None: with all rights of the user."},
		{Name: "collections", Label: "Only in these collections, one on each line", Kind: "lines", Most: 8000}, {Name: "expires", Label: "Refused from this day on (UTC)", Kind: "date", Note: "None: never."}},
		Body: func(id string, given url.Values, why string) (any, error) {
			var in operation.NewKey
			in.Body.User, in.Body.Label, in.Body.Collections, in.Body.Reason = id, form.Text(given, "label"), form.Lines(given, "collections"), why
			for _, role := range given["roles"] {
				in.Body.Roles = append(in.Body.Roles, access.Role(role))
			}
			if day := form.Text(given, "expires"); day != "" {
				at, err := time.Parse(time.DateOnly, day)
				if err != nil {
					return nil, problem.Of(app.Invalid, "the day from which on the key is refused cannot be read", "write it as 2027-01-31")
				}
				in.Body.ExpiresAt = at
			}
			return in.Body, nil
		}},
	"people/disable": {Label: "Disable"}, "people/enable": {Label: "Enable"}, "keys/revoke": {Label: "Revoke the key"},
}

func passwordIn(_ string, given url.Values, why string) (any, error) {
	var in operation.UserPassword
	if in.Body.Password, in.Body.Reason = given.Get("password"), why; in.Body.Password != given.Get("again") {
		return nil, problem.Of(app.Invalid, "the two passwords are not the same", "write it twice")
	}
	return in.Body, nil
}

func rightIn(_ string, given url.Values, why string) (any, error) {
	var in operation.UserRight
	in.Body.Right, in.Body.Reason = people.Right{Role: access.Role(given.Get("role")), All: given.Get("all") == "true", Collections: form.Lines(given, "collections")}, why
	return in.Body, nil
}
