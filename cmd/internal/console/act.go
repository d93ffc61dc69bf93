package console

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// actions are what operators do about one thing, by the pages of its kind: verbs of operations that
// take a reason.
var actions = map[string]struct {
	noun  string // of the operations
	shows string // the operation that has its version, "" = it has none
	verbs []string
	all   []string // those that are also given to all that a filter chooses
}{
	"batches":     {"batch", "batch.show", []string{"release", "update-report", "send-report", "delete", "cleanup"}, []string{"release", "update-report", "delete", "cleanup"}},
	"jobs":        {"job", "job.show", []string{"hold", "release", "requeue", "priority", "fail", "delete"}, []string{"hold", "release", "requeue", "priority", "fail", "delete"}},
	"files":       {"file", "file.show", []string{"requeue", "skip", "redownload", "reprocess", "abandon"}, []string{"requeue", "skip"}},
	"queues":      {"queue", "", []string{"pause", "resume"}, nil},
	"collections": {"collection", "", []string{"hold", "release"}, nil},
	"compute":     {"compute", "compute.show", []string{"retry"}, nil},
	"deposits":    {"drop", "upload.show", []string{"retry", "rm"}, nil},
	"slots":       {"slot", "slot.show", []string{"open", "close"}, nil},
	"directories": {"discover", "discover.show", []string{"run", "pause", "resume"}, nil},
	"queries":     {"query", "query.show", []string{"fail", "send-report"}, nil},
	"objects":     {"object", "", []string{withdraw, "approve", "reject"}, nil},
	"people":      {"user", "user.show", []string{"set", "grant", withdraw, "password", "key", "identity", "disable", "enable"}, nil},
	"keys":        {"key", "", []string{"revoke"}, nil},
}

// mayAct reports whether the caller acts on what is of a collection, "" = of any.
func mayAct(v *visit, collection string) bool {
	return slices.ContainsFunc(v.Self.Rights, func(r people.Right) bool {
		return (r.Role == access.Operator || r.Role == access.Admin) && (r.All || collection == "" || slices.Contains(r.Collections, collection))
	})
}

// doable are the ways to the actions about a thing.
type doable struct {
	Label, To string
}

// actionsOn returns what the caller may do about a thing now.
func actionsOn(v *visit, kind, id, collection string, at *app.AsOf) (all []doable) {
	if at != nil || !mayAct(v, collection) {
		return nil
	}
	for _, verb := range actions[kind].verbs {
		all = append(all, doable{wordsOf(verb), Path + kind + "/" + url.PathEscape(id) + "/do/" + verb})
	}
	return all
}

// wordsOf returns a verb as people read it: "Update report".
func wordsOf(verb string) string {
	words := strings.ReplaceAll(verb, "-", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// labelOf returns what a command about things of a kind is called.
func labelOf(kind, verb string) string {
	return cmp.Or(question.Of(kind, verb).Label, wordsOf(verb))
}

// act is the page of an action: what would change, and after it what has changed.
type act struct {
	Verb, Label string
	Name, Back  string // of the thing, and the address of its page
	To          string // the address of the form
	Reason      string // as it was written
	Key, Match  string // of the request
	Priority    string // that a job gets, "" = it is not about that, or not known yet
	Asks        bool   // for the priority or the fields, before anything is previewed
	Fields      []form.Field
	Secrets     []form.Field // are asked for with the reason
	Change      *changed
	Facts       []fact           // what is so then
	Problem     *problem.Problem // why it is, or would be, refused
	Done        bool
	Then        []doable // what can be done about it after that
}

// doing returns the action that an address names, and what it is requested by.
func doing(v *visit, kind string) (a act, q question.Question, err error) {
	id, verb := v.PathValue("id"), v.PathValue("verb")
	if v.URL.Path == newUserPath {
		verb = "add"
	} else if !slices.Contains(actions[kind].verbs, verb) {
		return a, q, problem.Of(app.NotFound, "there is no such action", "the page of the thing has those there are")
	}
	a = act{Verb: verb, Label: labelOf(kind, verb), Name: id, To: v.URL.EscapedPath(), Back: Path + kind + "/" + url.PathEscape(id), Key: rand.Text()}
	switch kind {
	case "queues", "collections":
		a.Back = Path + "queues"
	case "keys":
		a.Back = Path + kind
	}
	if verb == priority {
		a.Priority = strings.TrimSpace(cmp.Or(v.PostForm.Get("to"), v.URL.Query().Get("to")))
		a.Asks = a.Priority == ""
	}
	q = question.Of(kind, verb)
	q.Operation = cmp.Or(q.Operation, actions[kind].noun+"."+verb)
	a.Secrets = q.Secrets
	return a, q, nil
}

// changed is what a command has changed, or would: of users and keys what is so then.
type changed struct {
	app.Changed
	Secret      string         `json:"secret"` // a key that was made
	DisplayName string         `json:"display_name"`
	Mail        string         `json:"mail"`
	Rights      []people.Right `json:"rights"`
}

// page returns the page of an action.
func (a act) page(kind string) page {
	p := page{Name: "act", Title: strings.TrimSpace(a.Label + " " + cell.Short(a.Name)), Where: kind, Data: a}
	if a.Problem != nil && !a.Asks {
		p.Status = a.Problem.Status
	}
	return p
}

// priority is the verb that needs a number besides a reason.
const priority = "priority"

// release is the verb that ends a hold.
const release = "release"

// heldBy are the ways to release what still waits because of the hold on a collection.
func heldBy(collection string) []doable {
	chosen := url.Values{"verb": {release}, "state": {string(domain.JobHeld)}, "collection": {collection}, "code": {string(domain.CodeCollectionHeld)}}
	return []doable{{"Release the held batches", with(Path+"batches/all", chosen, "", "")}, {"Release the held jobs", with(Path+"jobs/all", chosen, "", "")}}
}

// namesCommand reports whether a text says what to do on the command line.
func namesCommand(text string) bool { return strings.Contains(text, "`accession ") }

// query returns the parameters of the operation.
func (a act) query(more url.Values) url.Values {
	all := url.Values{}
	for name, values := range more {
		all[name] = values
	}
	if a.Priority != "" {
		all.Set("to", a.Priority)
	}
	return all
}

// preview shows what an action would change, or asks for what it needs to know before.
func (*Console) preview(kind string) func(*visit) (page, error) {
	return func(v *visit) (page, error) {
		a, q, err := doing(v, kind)
		if err != nil {
			return page{}, err
		}
		if len(q.Fields) > 0 {
			a.Asks, a.Fields = true, form.Filled(q.Fields, v.URL.Query())
			if q.Known != nil {
				known, err := q.Known(v, a.Name)
				if err != nil {
					return page{}, err
				}
				a.Fields = form.Filled(q.Fields, known)
			}
		}
		return tried(v, kind, a, q)
	}
}

// tried shows what an action would change, unless it has to ask before.
func tried(v *visit, kind string, a act, q question.Question) (page, error) {
	if shows := actions[kind].shows; shows != "" && a.Name != "" {
		r, err := v.Operation(shows, nil, a.Name)
		if err != nil {
			return page{}, err
		}
		answered := &ask.Answer{}
		v.API.ServeHTTP(answered, r)
		if answered.Status >= http.StatusMultipleChoices {
			return page{}, ask.Problem(answered)
		}
		a.Match = answered.Header().Get("ETag")
	}
	if a.Asks {
		return a.page(kind), nil
	}
	given := form.Placeholder(q.Secrets)
	for _, f := range a.Fields {
		given[f.Name] = f.Values
	}
	// What needs a reason is tried with one.
	err := a.request(v, q, given, "preview", a.query(url.Values{"dry_run": {"true"}}), nil)
	p := a.page(kind)
	if p.Status = 0; len(a.Fields) > 0 && a.Problem != nil { // it is asked for again
		p.Status, a.Asks = a.Problem.Status, true
		p.Data = a
	}
	return p, err
}

// request requests an action, and keeps what becomes of it.
func (a *act) request(v *visit, q question.Question, given url.Values, why string, query url.Values, header http.Header) (err error) {
	body, names := question.Reason(why), []string{a.Name}
	if q.Body != nil {
		body, err = q.Body(a.Name, given, strings.TrimSpace(why))
		if p, is := err.(*problem.Problem); is { //nolint:errorlint // it comes from the form as it is
			a.Problem = p
			return nil
		}
	}
	if !strings.Contains(operation.Named(q.Operation).Path, "{") {
		names = nil
	}
	a.Change, a.Problem, err = ask.Try[changed](v, q.Operation, query, body, header, names...)
	if c := a.Change; c != nil {
		a.Facts = facts("Name", c.DisplayName, "Mail", c.Mail, "Rights", rightsOf(c.Rights))
	}
	return err
}

// carryOut carries an action out, for the reason that the form has.
func (*Console) carryOut(kind string) func(*visit) (page, error) {
	return func(v *visit) (page, error) {
		a, q, err := doing(v, kind)
		if err != nil {
			return page{}, err
		}
		if a.Fields = form.Filled(q.Fields, v.PostForm); v.PostForm.Get("step") == "preview" {
			return tried(v, kind, a, q)
		}
		header := http.Header{"Prefer": {"wait=5"}}
		if a.Key, a.Match, a.Reason = v.PostForm.Get("key"), v.PostForm.Get("match"), v.PostForm.Get("reason"); a.Match != "" {
			header.Set("If-Match", a.Match)
		}
		if a.Key != "" {
			header.Set("Idempotency-Key", a.Key)
		}
		err = a.request(v, q, v.PostForm, a.Reason, a.query(nil), header)
		if a.Done = a.Problem == nil; !a.Done {
			a.Key = rand.Text()
		} else if a.Change != nil && kind == "collections" && a.Verb == release {
			a.Then = heldBy(a.Name)
			a.Change.Effects = slices.DeleteFunc(a.Change.Effects, namesCommand)
		} else if a.Change != nil && a.Verb == "add" {
			a.Then = []doable{{"The page of the user", toUser(a.Change.ID)}}
		}
		return a.page(kind), err
	}
}

// form returns the page of a form that was sent; one that is too long or cannot be read is refused.
func (c *Console) form(show func(*visit) (page, error)) http.Handler {
	shown := c.page(func(v *visit) (page, error) {
		if err := v.ParseForm(); err != nil {
			return page{}, problem.Of(app.Invalid, "the form cannot be read", "send it from its page")
		}
		return show(v)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		shown.ServeHTTP(w, r)
	})
}

// many is the page of a command to all that a filter chooses: what it would be about.
type many struct {
	Verb, Label, Kind string // Kind is that of the things, in words
	Chosen            []fact
	To, Back          string
	Reason, Key       string
	Matched           string
	Change            *bulk.Action
	First             table
	Problem           *problem.Problem
	Asks              bool    // for the priority, before anything is previewed
	Given             []field // what is sent on with it
}

var triedColumns = columns[bulk.Tried]{title: "The first of them", none: "Nothing is chosen.", list: []column[bulk.Tried]{
	{"id", "Id", func(t bulk.Tried) any { return t.ID }},
	{"from", "From", func(t bulk.Tried) any {
		if t.Change == nil {
			return nil
		}
		return cell.State(t.Change.From)
	}},
	{"to", "To", func(t bulk.Tried) any {
		if t.Change == nil {
			return nil
		}
		return cell.State(t.Change.State)
	}},
	{"refusal", "Would be refused because", func(t bulk.Tried) any { return t.Refusal }},
}}

// chosen returns the request of a command to all that an address chooses.
func chosen(v *visit, kind string) (m many, r bulk.Request, err error) {
	all, err := v.Parameters()
	if err != nil {
		return m, r, err
	}
	verb := all.Get("verb")
	if !slices.Contains(actions[kind].all, verb) {
		return m, r, problem.Of(app.NotFound, "there is no such action", "the list has those there are")
	}
	filter := map[string]string{}
	for name, values := range all {
		switch name {
		case "verb", "cursor", "limit", "to":
			all.Del(name)
		default:
			filter[name] = values[0]
			m.Chosen = append(m.Chosen, fact{name, cell.Of(values[0])})
		}
	}
	slices.SortFunc(m.Chosen, func(a, b fact) int { return strings.Compare(a.Label, b.Label) })
	r = bulk.Request{Kind: domain.Kind(actions[kind].noun), Verb: verb, Reason: strings.TrimSpace(v.PostForm.Get("reason"))}
	if verb == priority {
		to := v.URL.Query().Get("to")
		if n, err := strconv.Atoi(to); err == nil {
			r.Priority = &n
			m.Chosen = append(m.Chosen, fact{"priority from then on", cell.Of(n)})
		} else if to != "" {
			return m, r, problem.Of(app.Invalid, "the priority is no number", "choose from 0 to 99: lower runs first")
		}
		m.Asks = r.Priority == nil
	}
	m.Verb, m.Label, m.Kind, m.To, m.Back = verb, wordsOf(verb), kind, v.URL.RequestURI(), with(Path+kind, all, "", "")
	text, err := json.Marshal(filter)
	if err == nil {
		err = json.Unmarshal(text, &r.Filter)
	}
	if err != nil {
		err = problem.Of(app.Invalid, "the filter cannot be read: "+err.Error(), "choose on the page of the list")
	}
	return m, r, err
}

// previewMany shows what a command to all would be about.
func (*Console) previewMany(kind string) func(*visit) (page, error) {
	return func(v *visit) (page, error) {
		m, r, err := chosen(v, kind)
		if err != nil {
			return page{}, err
		}
		if m.Asks {
			m.To = v.URL.Path
			m.Given = append(m.Given, field{Name: "verb", Value: priority})
			for name, values := range v.URL.Query() {
				if name != "verb" && name != "to" && values[0] != "" {
					m.Given = append(m.Given, field{Name: name, Value: values[0]})
				}
			}
			slices.SortFunc(m.Given, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
			return page{Name: "many", Title: m.Label + " of all chosen " + kind, Where: kind, Data: m}, nil
		}
		m.Key, r.Reason = rand.Text(), "preview"
		m.Change, m.Problem, err = ask.Try[bulk.Action](v, "bulk.begin", url.Values{"dry_run": {"true"}}, r, nil)
		if m.Change != nil {
			m.First, m.Matched = triedColumns.table(m.Change.First), "more than are counted"
			if n := m.Change.Matched; n != nil {
				m.Matched = cell.Count(*n)
			}
		}
		return page{Name: "many", Title: m.Label + " all chosen " + kind, Where: kind, Data: m}, err
	}
}

// beginMany begins a bulk action, and leads to its page.
func (c *Console) beginMany(kind string) http.Handler {
	return c.form(func(v *visit) (page, error) {
		m, r, err := chosen(v, kind)
		if err != nil {
			return page{}, err
		}
		m.Reason, m.Key = r.Reason, v.PostForm.Get("key")
		header := http.Header{}
		if m.Key != "" {
			header.Set("Idempotency-Key", m.Key)
		}
		m.Change, m.Problem, err = ask.Try[bulk.Action](v, "bulk.begin", nil, r, header)
		if err != nil || m.Problem == nil {
			p := page{Status: http.StatusSeeOther}
			if m.Change != nil {
				p.To = Path + "bulk/" + url.PathEscape(m.Change.ID)
			}
			return p, err
		}
		m.Key = rand.Text()
		return page{Name: "many", Title: m.Label + " all chosen " + kind, Where: kind, Status: m.Problem.Status, Data: m}, nil
	})
}

// bulkPage shows how far a bulk action is.
type bulkPage struct {
	bulk.Action
	Bar   cell.Bar
	Facts []fact
	Items table
	Lists string // the list of what it selects now, "" = there is no page of such things
}

// listOfKind is the page that lists things of a kind.
var listOfKind = map[domain.Kind]string{domain.KindBatch: "batches", domain.KindJob: "jobs", domain.KindFile: "files", domain.KindEntry: "compute", domain.KindQuery: "queries"}

// chosenBy returns the address of the list of what a bulk action selects now.
func chosenBy(r bulk.Request) string {
	at, known := listOfKind[r.Kind]
	data, err := json.Marshal(r.Filter)
	var conditions map[string]string
	if !known || err != nil || json.Unmarshal(data, &conditions) != nil {
		return ""
	}
	chosen := url.Values{}
	for name, value := range conditions {
		chosen.Set(name, value)
	}
	return Path + at + "?" + chosen.Encode()
}

var bulkItemColumns = columns[bulk.Item]{operation: "bulk.items", names: []string{"id"}, title: "Refused", none: "Nothing was refused.", list: []column[bulk.Item]{
	{"id", "Id", func(i bulk.Item) any { return i.ID }},
	{"state", "State", func(i bulk.Item) any { return cell.State(i.State) }},
	{"code", "Code", func(i bulk.Item) any { return i.Code }},
	{"message", "Why", func(i bulk.Item) any { return i.Message }},
}}

func (*Console) bulk(v *visit) (page, error) {
	id := v.PathValue("id")
	a, err := ask.Get[bulk.Action](v, "bulk.show", nil, id)
	if err != nil {
		return page{}, err
	}
	items, err := ask.Get[app.Page[bulk.Item]](v, "bulk.items", url.Values{"outcome": {"refused"}, "limit": {shownOf}}, id)
	if err != nil {
		return page{}, err
	}
	left := max(deref(a.Matched)-a.Done-a.Refused, 0)
	if a.EndedAt != nil {
		left = 0
	}
	d := bulkPage{Action: a, Bar: cell.Sum("things", cell.N("completed", a.Done), cell.N("failed", a.Refused), cell.N("in_progress", left)), Items: bulkItemColumns.table(items.Items)}
	d.Bar.Parts[0].Name, d.Bar.Parts[1].Name, d.Bar.Parts[2].Name = "done", "refused", "left"
	d.Facts = facts("Requested by", a.By, "Reason", a.Request.Reason, "Chosen", a.Matched, "Requested", a.RequestedAt, "Begun", a.BegunAt, "Ended", a.EndedAt, "Cancelled by", a.CancelledBy)
	d.Lists = chosenBy(a.Request)
	d.Items.CSV = Path + "bulk/" + url.PathEscape(id) + "/items.csv?outcome=refused"
	title := wordsOf(a.Request.Verb) + " " + bulk.Plural(a.Request.Kind)
	return page{Name: "bulk", Title: title, Where: "bulk", Data: d}, nil
}

var bulkColumns = columns[bulk.Action]{operation: "bulk.ls", title: "Bulk actions", none: "No command was given to many: the lists of batches, jobs and files do that.", list: []column[bulk.Action]{
	{"id", "Action", func(a bulk.Action) any { return cell.To(a.ID, Path+"bulk/"+url.PathEscape(a.ID)) }},
	{"verb", "Command", func(a bulk.Action) any { return string(a.Request.Kind) + " " + a.Request.Verb }},
	{"state", "State", func(a bulk.Action) any { return cell.State(a.State) }},
	{"by", "By", func(a bulk.Action) any { return a.By }},
	{"matched", "Chosen", func(a bulk.Action) any { return a.Matched }},
	{"done", "Done", func(a bulk.Action) any { return a.Done }},
	{"refused", "Refused", func(a bulk.Action) any { return a.Refused }},
	{"requested_at", "Requested", func(a bulk.Action) any { return a.RequestedAt }},
	{"reason", "Reason", func(a bulk.Action) any { return a.Request.Reason }},
}}

func (*Console) bulks(v *visit) (page, error) {
	return listPage(v, bulkColumns, "Bulk actions", "bulk", field{Name: "state", Label: "State", Choices: []string{bulk.Waiting, bulk.Running, bulk.Done, bulk.Cancelled}})
}
