package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain/access"
)

// newUserPath is where users are added: a user may have any name below the page of people.
const newUserPath = Path + "new-user"

func toUser(id string) string { return Path + "people/" + url.PathEscape(id) }

func administers(s people.Self) bool {
	return slices.ContainsFunc(s.Rights, func(r people.Right) bool { return r.Role == access.Admin && r.All })
}

var peopleColumns = table.Columns[people.User]{Operation: "user.ls", Title: "People", None: "There are no users: add one.", List: []table.Column[people.User]{
	table.Col("id", "User", func(u people.User) any { return cell.To(u.ID, toUser(u.ID)) }),
	table.Col("display_name", "Name", func(u people.User) any { return u.DisplayName }),
	table.Col("mail", "Mail", func(u people.User) any { return u.Mail }),
	table.Col("rights", "Rights", func(u people.User) any { return rightsOf(u.Rights) }),
	table.Col("created_at", "Added", func(u people.User) any { return u.CreatedAt }),
	table.Col("disabled_at", "Disabled", func(u people.User) any { return u.DisabledAt }),
}}

// rightsOf returns rights as people read them.
func rightsOf(all []people.Right) string {
	var words []string
	for _, r := range all {
		words = append(words, string(r.Role)+" in "+cmp.Or(strings.Join(r.Collections, ", "), "all collections"))
	}
	return strings.Join(words, "; ")
}

var keyColumns = table.Columns[people.Key]{Operation: "key.ls", Title: "API keys", None: "There are no keys: the page of a user makes one.", List: []table.Column[people.Key]{
	table.Col("id", "Key", func(k people.Key) any { return k.ID }),
	table.Col("", "Revoke", func(k people.Key) any {
		if k.RevokedAt != nil {
			return nil
		}
		return cell.To("Revoke", Path+"keys/"+url.PathEscape(k.ID)+"/do/revoke")
	}),
	table.Col("user", "User", func(k people.Key) any { return cell.To(k.User, toUser(k.User)) }),
	table.Col("label", "Label", func(k people.Key) any { return k.Label }),
	table.Col("roles", "Only as", func(k people.Key) any { return strings.Join(texts(k.Roles), ", ") }),
	table.Col("collections", "Only in", func(k people.Key) any { return strings.Join(k.Collections, ", ") }),
	table.Col("created_at", "Made", func(k people.Key) any { return k.CreatedAt }),
	table.Col("expires_at", "Expires", func(k people.Key) any { return k.ExpiresAt }),
	table.Col("revoked_at", "Revoked", func(k people.Key) any { return k.RevokedAt }),
	table.Col("used_on", "Last used (UTC)", func(k people.Key) any { return k.UsedOn }),
}}

var auditColumns = table.Columns[people.Entry]{Operation: "audit.ls", Title: "Audit", None: "Nothing was audited, as far as these conditions choose: every command and refusal is.", List: []table.Column[people.Entry]{
	table.Col("at", "When", func(e people.Entry) any { return e.At }),
	table.Col("caller", "Who", func(e people.Entry) any { return e.Caller }),
	table.Col("via", "By", func(e people.Entry) any { return e.Via }),
	table.Col("address", "From", func(e people.Entry) any { return e.Address }),
	table.Col("action", "What", func(e people.Entry) any { return e.Action }),
	table.Col("subject", "On", func(e people.Entry) any { return e.Subject }),
	table.Col("outcome", "Outcome", func(e people.Entry) any { return cell.State(e.Outcome) }),
	table.Col("detail", "Detail", func(e people.Entry) any { return e.Detail }),
	table.Col("reason", "Reason", func(e people.Entry) any { return e.Reason }),
}}

// peopleLists are the lists for administrators.
func (c *Console) peopleLists() []further {
	keys := listOf(c, "keys", "Keys of programs", keyColumns, administers, field{Name: "user", Label: "User"})
	users := listOf(c, "people", "Users and their rights", peopleColumns, administers)
	users.show = func(v *visit) (page, error) {
		p, err := listPage(v, peopleColumns, peopleColumns.Title, "more")
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
func rightsShown(user string) table.Columns[people.Right] {
	return table.Columns[people.Right]{Title: "Rights", None: "The user may do nothing: grant a right.", List: []table.Column[people.Right]{
		table.Col("role", "Role", func(r people.Right) any { return string(r.Role) }),
		table.Col("", "Withdraw", func(r people.Right) any {
			of := url.Values{"role": {string(r.Role)}}
			if r.All {
				of.Set("all", "true")
			} else {
				of.Set("collections", strings.Join(r.Collections, "\n"))
			}
			return cell.To("Withdraw", form.Address(toUser(user)+"/do/withdraw", of, "", ""))
		}),
		table.Col("collections", "In", func(r people.Right) any { return cmp.Or(strings.Join(r.Collections, ", "), "all collections") }),
	}}
}

func (*Console) person(v *visit) (page, error) {
	u, err := ask.Get[people.User](v, "user.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	keys, err := ask.Get[app.Page[people.Key]](v, "key.ls", url.Values{"user": {u.ID}})
	if err != nil {
		return page{}, err
	}
	in := table.In(v)
	t := thing{State: "enabled", In: in, Again: true, Tables: []table.Table{rightsShown(u.ID).In(in, "rights", u.Rights), firstOf(keyColumns, in, "keys", keys, url.Values{"user": {u.ID}})}}
	not := "enable"
	if u.DisabledAt != nil {
		t.State, not = "disabled", "disable"
	}
	for _, verb := range question.Actions["people"].Verbs {
		if verb != not && verb != withdraw { // that is beside each right
			t.Actions = append(t.Actions, doable{question.Label("people", verb), toUser(u.ID) + "/do/" + verb})
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

// newUserRoutes are those of the form that adds a user.
func (c *Console) newUserRoutes() []Route {
	return []Route{{"GET " + newUserPath, c.page(c.preview("people")), false}, {"POST " + newUserPath, c.form(c.carryOut("people")), false}}
}
