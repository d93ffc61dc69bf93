package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/access"
)

// newUserPath is where users are added: a user may have any name below the page of people.
const newUserPath = Path + "new-user"

func toUser(id string) string { return Path + "people/" + url.PathEscape(id) }

func administers(s people.Self) bool {
	return slices.ContainsFunc(s.Rights, func(r people.Right) bool { return r.Role == access.Admin && r.All })
}

var peopleColumns = columns[people.User]{operation: "user.ls", title: "People", none: "There are no users: add one.", list: []column[people.User]{
	{"id", "User", func(u people.User) any { return cell.To(u.ID, toUser(u.ID)) }},
	{"display_name", "Name", func(u people.User) any { return u.DisplayName }},
	{"mail", "Mail", func(u people.User) any { return u.Mail }},
	{"rights", "Rights", func(u people.User) any { return rightsOf(u.Rights) }},
	{"created_at", "Added", func(u people.User) any { return u.CreatedAt }},
	{"disabled_at", "Disabled", func(u people.User) any { return u.DisabledAt }},
}}

// rightsOf returns rights as people read them.
func rightsOf(all []people.Right) string {
	var words []string
	for _, r := range all {
		words = append(words, string(r.Role)+" in "+cmp.Or(strings.Join(r.Collections, ", "), "all collections"))
	}
	return strings.Join(words, "; ")
}

var keyColumns = columns[people.Key]{operation: "key.ls", title: "API keys", none: "There are no keys: the page of a user makes one.", list: []column[people.Key]{
	{"id", "Key", func(k people.Key) any { return k.ID }},
	{"", "Revoke", func(k people.Key) any {
		if k.RevokedAt != nil {
			return nil
		}
		return cell.To("Revoke", Path+"keys/"+url.PathEscape(k.ID)+"/do/revoke")
	}},
	{"user", "User", func(k people.Key) any { return cell.To(k.User, toUser(k.User)) }},
	{"label", "Label", func(k people.Key) any { return k.Label }},
	{"roles", "Only as", func(k people.Key) any { return strings.Join(texts(k.Roles), ", ") }},
	{"collections", "Only in", func(k people.Key) any { return strings.Join(k.Collections, ", ") }},
	{"created_at", "Made", func(k people.Key) any { return k.CreatedAt }},
	{"expires_at", "Expires", func(k people.Key) any { return k.ExpiresAt }},
	{"revoked_at", "Revoked", func(k people.Key) any { return k.RevokedAt }},
	{"used_on", "Last used (UTC)", func(k people.Key) any { return k.UsedOn }},
}}

var auditColumns = columns[people.Entry]{operation: "audit.ls", title: "Audit", none: "Nothing was audited.", list: []column[people.Entry]{
	{"at", "When", func(e people.Entry) any { return e.At }},
	{"caller", "Who", func(e people.Entry) any { return e.Caller }},
	{"via", "By", func(e people.Entry) any { return e.Via }},
	{"address", "From", func(e people.Entry) any { return e.Address }},
	{"action", "What", func(e people.Entry) any { return e.Action }},
	{"subject", "On", func(e people.Entry) any { return e.Subject }},
	{"outcome", "Outcome", func(e people.Entry) any { return cell.State(e.Outcome) }},
	{"detail", "Detail", func(e people.Entry) any { return e.Detail }},
	{"reason", "Reason", func(e people.Entry) any { return e.Reason }},
}}

// peopleLists are the lists for administrators.
func (c *Console) peopleLists() []further {
	keys := listOf(c, "keys", "Keys of programs", keyColumns, administers, field{Name: "user", Label: "User"})
	users := listOf(c, "people", "Users and their rights", peopleColumns, administers)
	users.show = func(v *visit) (page, error) {
		p, err := listPage(v, peopleColumns, peopleColumns.title, "more")
		if l, is := p.Data.(list); is {
			l.Actions = []doable{{"Add a user", newUserPath}}
			p.Data = l
		}
		return p, err
	}
	return []further{users, keys,
		listOf(c, "audit", "Who did what, and what was refused", auditColumns, administers, append([]field{{Name: "user", Label: "Who"}, {Name: "action", Label: "What"}, {Name: "on", Label: "On"}}, age...)...)}
}

// rightsShown are the rights of a user on its page, with the way to withdraw each.
func rightsShown(user string) columns[people.Right] {
	return columns[people.Right]{title: "Rights", none: "The user may do nothing: grant a right.", list: []column[people.Right]{
		{"role", "Role", func(r people.Right) any { return string(r.Role) }},
		{"withdraw", "Withdraw", func(r people.Right) any {
			of := url.Values{"role": {string(r.Role)}}
			if r.All {
				of.Set("all", "true")
			} else {
				of.Set("collections", strings.Join(r.Collections, "\n"))
			}
			return cell.To("Withdraw", with(toUser(user)+"/do/withdraw", of, "", ""))
		}},
		{"collections", "In", func(r people.Right) any { return cmp.Or(strings.Join(r.Collections, ", "), "all collections") }},
	}}
}

func (*Console) person(v *visit) (page, error) {
	u, err := get[people.User](v, "user.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	keys, err := get[app.Page[people.Key]](v, "key.ls", url.Values{"user": {u.ID}})
	if err != nil {
		return page{}, err
	}
	t := thing{State: "enabled", Tables: []table{rightsShown(u.ID).table(u.Rights), keyColumns.table(keys.Items)}}
	not := "enable"
	if u.DisabledAt != nil {
		t.State, not = "disabled", "disable"
	}
	for _, verb := range actions["people"].verbs {
		if verb != not && verb != withdraw { // that is beside each right
			t.Actions = append(t.Actions, doable{labelOf("people", verb), toUser(u.ID) + "/do/" + verb})
		}
	}
	password := "no"
	if u.HasPassword {
		password = "yes"
	}
	subject, issuer := "", ""
	if u.OpenID != nil {
		subject, issuer = u.OpenID.Subject, u.OpenID.Issuer
	}
	t.Facts = facts("User", u.ID, "Name", u.DisplayName, "Mail", u.Mail, "Has a password", password, "Signs in as", subject, "At", issuer, "Added", u.CreatedAt, "Disabled", u.DisabledAt)
	t.Links = []doable{{"What this user did, and was refused", Path + "audit?user=" + url.QueryEscape(u.ID)}, {"What was done to this user", Path + "audit?on=" + url.QueryEscape("user/"+u.ID)},
		{"What this user has deposited", Path + "batches?submitter=" + url.QueryEscape(u.ID)}}
	return t.page(cmp.Or(u.DisplayName, u.ID), "")
}

// roles are those that a right has, as a form has them.
var roles = texts([]access.Role{access.Reader, access.Depositor, access.Operator, access.Admin})

// said are the fields of what is said of a user.
var said = []form.Field{{Name: "display_name", Label: "Name, as people call the user", Most: 200}, {Name: "mail", Label: "Mail address", Most: 200}}

// right are the fields of a right.
var right = []form.Field{{Name: "role", Label: "Role", Kind: "choice", Choices: roles, Note: "A reader sees, a depositor deposits and sees the own deposits, an operator sees and acts, an admin may do everything everywhere."},
	{Name: "collections", Label: "Collections, one on each line", Kind: "lines", Most: 8000}, {Name: "all", Label: "In all collections, those of the future too", Kind: "check"}}

// peopleQuestions are what commands about users ask for.
var peopleQuestions = map[string]question{
	"people/add": {label: "Add a user", fields: append([]form.Field{{Name: "name", Label: "User", Most: 64, Needed: true, Note: "1 to 64 of a-z, 0-9, dot, underscore, at sign and hyphen: the user signs in with it, and is the depositor of its deposits."}}, said...),
		body: func(_ string, given url.Values, why string) (any, error) {
			var in operation.NewUser
			in.Body.Name, in.Body.DisplayName, in.Body.Mail, in.Body.Reason = form.Text(given, "name"), form.Text(given, "display_name"), form.Text(given, "mail"), why
			return in.Body, nil
		}},
	"people/set": {label: "Change name or mail", fields: said, known: func(v *visit, id string) (url.Values, error) {
		u, err := get[people.User](v, "user.show", nil, id)
		return url.Values{"display_name": {u.DisplayName}, "mail": {u.Mail}}, err
	}, body: func(_ string, given url.Values, why string) (any, error) {
		var in operation.UserSet
		name, mail := form.Text(given, "display_name"), form.Text(given, "mail")
		in.Body.DisplayName, in.Body.Mail, in.Body.Reason = &name, &mail, why
		return in.Body, nil
	}},
	"people/identity": {label: "Change the sign-in by OpenID Connect", operation: "user.set", fields: []form.Field{{Name: "issuer", Label: "Issuer, as the setting openid_issuer has it", Most: 1000},
		{Name: "subject", Label: "Subject of the person who signs in as the user", Most: 255, Note: "The page of a refused sign-in and the audit show it. With both empty no person signs in so."}},
		known: func(v *visit, id string) (url.Values, error) {
			u, err := get[people.User](v, "user.show", nil, id)
			if err != nil || u.OpenID == nil {
				return nil, err
			}
			return url.Values{"issuer": {u.OpenID.Issuer}, "subject": {u.OpenID.Subject}}, nil
		}, body: func(_ string, given url.Values, why string) (any, error) {
			var in operation.UserSet
			in.Body.OpenID, in.Body.Reason = &people.Identity{Issuer: form.Text(given, "issuer"), Subject: form.Text(given, "subject")}, why
			return in.Body, nil
		}},
	"people/password": {label: "Set the password", secrets: []form.Field{{Name: "password", Label: "Password", Kind: "password", Most: 256, Needed: true}, {Name: "again", Label: "Once more", Kind: "password", Most: 256, Needed: true}},
		body: passwordIn},
	"people/grant":    {label: "Grant a right", fields: right, body: rightIn},
	"people/withdraw": {label: "Withdraw a right", fields: right, body: rightIn},
	"people/key": {label: "Make an API key", operation: "key.add", fields: []form.Field{{Name: "label", Label: "What it is for", Most: 200}, {Name: "roles", Label: "Only as", Kind: "choices", Choices: roles, Note: "None: with all rights of the user."},
		{Name: "collections", Label: "Only in these collections, one on each line", Kind: "lines", Most: 8000}, {Name: "expires", Label: "Refused from this day on (UTC)", Kind: "date", Note: "None: never."}},
		body: func(id string, given url.Values, why string) (any, error) {
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
	"people/disable": {label: "Disable"}, "people/enable": {label: "Enable"}, "keys/revoke": {label: "Revoke the key"},
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

// newUserRoutes are those of the form that adds a user.
func (c *Console) newUserRoutes() []Route {
	return []Route{{"GET " + newUserPath, c.page(c.preview("people")), false}, {"POST " + newUserPath, c.form(c.carryOut("people")), false}}
}
