package console

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
)

// many is the page of a command to all that a filter chooses: what it would be about.
type many struct {
	Title, Kind string // Kind is that of the things, in words
	Label       string // of the button
	Where       string // what the page belongs to
	Chosen      []fact
	To, Back    string
	Reason, Key string
	Matched     string
	Change      *bulk.Action
	First       table.Table
	Problem     *problem.Problem
	Asks        bool    // for the priority, before anything is previewed
	Given       []field // what is sent on with it
}

var triedColumns = table.Columns[bulk.Tried]{Title: "The first of them", None: "Nothing is chosen.", List: []table.Column[bulk.Tried]{
	table.Col("id", "Id", func(t bulk.Tried) any { return t.ID }),
	table.Col("from", "From", func(t bulk.Tried) any {
		if t.Change == nil {
			return nil
		}
		return cell.State(t.Change.From)
	}),
	table.Col("to", "To", func(t bulk.Tried) any {
		if t.Change == nil {
			return nil
		}
		return cell.State(t.Change.State)
	}),
	table.Col("refusal", "Would be refused because", func(t bulk.Tried) any { return t.Refusal }),
}}

// chosen returns the request of a command to all that an address chooses.
func chosen(v *visit, kind string) (m many, r bulk.Request, err error) {
	all, err := v.Parameters()
	if err != nil {
		return m, r, err
	}
	verb := all.Get("verb")
	if !slices.Contains(question.Actions[kind].All, verb) {
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
	r = bulk.Request{Kind: kindOf(kind), Verb: verb, Reason: strings.TrimSpace(v.PostForm.Get("reason"))}
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
	m.Kind = bulk.Plural(r.Kind)
	m.Title, m.Label = question.TitleOfMany(kind, verb, "all chosen "+m.Kind), question.TitleOfMany(kind, verb, "all of them")
	m.To, m.Back = v.URL.RequestURI(), form.Address(Path+kind, all, "", "")
	if m.Where = kind; !slices.Contains(ofDeposits, kind) {
		m.Where = "more"
	}
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
			return page{Name: "many", Title: m.Title, Where: m.Where, Data: m}, nil
		}
		m.Key, r.Reason = rand.Text(), "preview"
		m.Change, m.Problem, err = ask.Try[bulk.Action](v, "bulk.begin", url.Values{"dry_run": {"true"}}, r, nil)
		if m.Change != nil {
			m.First, m.Matched = triedColumns.Table(m.Change.First), "more than are counted"
			if n := m.Change.Matched; n != nil {
				m.Matched = cell.Count(*n)
			}
		}
		return page{Name: "many", Title: m.Title, Where: m.Where, Data: m}, err
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
		return page{Name: "many", Title: m.Title, Where: m.Where, Status: m.Problem.Status, Data: m}, nil
	})
}

// bulkPage shows how far a bulk action is.
type bulkPage struct {
	bulk.Action
	Bar   cell.Bar
	Facts []fact
	Items table.Table
	Can   []doable // what can be done about it
	Lists string   // the list of what it selects now, "" = there is no page of such things
}

// listOfKind is the page that lists things of a kind.
var listOfKind = map[domain.Kind]string{domain.KindBatch: "batches", domain.KindJob: "jobs", domain.KindFile: "files", domain.KindEntry: "compute", domain.KindQuery: "queries", bulk.KindDrop: "deposits",
	domain.KindSlot: "slots", bulk.KindDiscover: "directories"}

// ofDeposits are the lists that are no further ones.
var ofDeposits = []string{"batches", "jobs", "files"}

// kindOf returns what a list has.
func kindOf(list string) domain.Kind {
	for kind, at := range listOfKind {
		if at == list {
			return kind
		}
	}
	return ""
}

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

var bulkItemColumns = table.Columns[bulk.Item]{Operation: "bulk.items", Names: []string{"id"}, Given: url.Values{"outcome": {"refused"}}, File: "/items.csv", Title: "Refused", None: "Nothing was refused.", List: []table.Column[bulk.Item]{
	table.Col("id", "Id", func(i bulk.Item) any { return i.ID }),
	table.Col("state", "State", func(i bulk.Item) any { return cell.State(i.State) }),
	table.Col("code", "Code", func(i bulk.Item) any { return i.Code }),
	table.Col("message", "Why", func(i bulk.Item) any { return i.Message }),
}}

func (*Console) bulk(v *visit) (page, error) {
	id := v.PathValue("id")
	a, err := ask.Get[bulk.Action](v, "bulk.show", nil, id)
	if err != nil {
		return page{}, err
	}
	items, err := bulkItemColumns.Listed(v)
	if err != nil {
		return page{}, err
	}
	left := max(deref(a.Matched)-a.Done-a.Refused, 0)
	if a.EndedAt != nil {
		left = 0
	}
	d := bulkPage{Action: a, Bar: cell.Sum("things", cell.N("completed", a.Done), cell.N("failed", a.Refused), cell.N("in_progress", left)), Items: items}
	d.Bar.Parts[0].Name, d.Bar.Parts[1].Name, d.Bar.Parts[2].Name = "done", "refused", "left"
	if a.EndedAt == nil {
		d.Can = []doable{{question.Label("bulk", "cancel"), Path + "bulk/" + url.PathEscape(id) + "/do/cancel"}}
	}
	d.Facts = facts("Requested by", a.By, "Reason", a.Request.Reason, "Chosen", a.Matched, "Requested", a.RequestedAt, "Begun", a.BegunAt, "Ended", a.EndedAt, "Cancelled by", a.CancelledBy)
	d.Lists = chosenBy(a.Request)
	title := question.TitleOfMany(listOfKind[a.Request.Kind], a.Request.Verb, bulk.Plural(a.Request.Kind))
	return page{Name: "bulk", Title: title, Where: "bulk", Data: d}, nil
}

var bulkColumns = table.Columns[bulk.Action]{Operation: "bulk.ls", Title: "Bulk actions", None: "No command was given to many: the lists of batches, jobs, files, work, queries, deposits, slots and directories do that, once a condition is chosen.", List: []table.Column[bulk.Action]{
	table.Col("id", "Action", func(a bulk.Action) any { return cell.To(a.ID, Path+"bulk/"+url.PathEscape(a.ID)) }),
	table.Col("verb", "Command", func(a bulk.Action) any { return string(a.Request.Kind) + " " + a.Request.Verb }),
	table.Col("state", "State", func(a bulk.Action) any { return cell.State(a.State) }),
	table.Col("by", "By", func(a bulk.Action) any { return a.By }),
	table.Col("matched", "Chosen", func(a bulk.Action) any { return a.Matched }),
	table.Col("done", "Done", func(a bulk.Action) any { return a.Done }),
	table.Col("refused", "Refused", func(a bulk.Action) any { return a.Refused }),
	table.Col("requested_at", "Requested", func(a bulk.Action) any { return a.RequestedAt }),
	table.Col("reason", "Reason", func(a bulk.Action) any { return a.Request.Reason }),
}}

func (*Console) bulks(v *visit) (page, error) {
	return listPage(v, bulkColumns, "Bulk actions", "bulk", field{Name: "state", Label: "State", Choices: []string{bulk.Waiting, bulk.Running, bulk.Done, bulk.Cancelled}})
}
