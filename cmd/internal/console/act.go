package console

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// change and remove are the verbs that change what is said of a thing, and take it away.
const change, remove = "set", "rm"

// madeAt are the pages of what actions make.
var madeAt = map[string]func(id string) string{"profile": toProfile, "dataset": toDataset, "directory": toDirectory, "slot": toSlot, "work": toEntry}

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
	for _, verb := range question.Actions[kind].Verbs {
		all = append(all, doable{question.Label(kind, verb), Path + kind + "/" + url.PathEscape(id) + "/do/" + verb})
	}
	return all
}

// act is the page of an action: what would change, and after it what has changed.
type act struct {
	Verb, Label string
	Name, Back  string // of the thing, and the address of its page
	To          string // the address of the form
	Reason      string // as it was written
	Key, Match  string // of the request
	Priority    string // that a job gets, "" = it is not about that, or not known yet
	Unreasoned  bool   // it takes no reason
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
	} else if !slices.Contains(question.Actions[kind].Verbs, verb) {
		return a, q, problem.Of(app.NotFound, "there is no such action", "the page of the thing has those there are")
	}
	q = question.Of(kind, verb)
	a = act{Verb: verb, Label: question.Label(kind, verb), Unreasoned: q.Unreasoned, Name: id, To: v.URL.EscapedPath(), Back: Path + kind + "/" + url.PathEscape(id), Key: rand.Text()}
	switch kind {
	case "queues", "collections", "deposit-queues":
		a.Back = Path + "queues"
	case "keys", "processors":
		a.Back = Path + kind
	case question.New:
		a.Back = Path + question.BegunOn[verb]
	}
	if verb == priority {
		a.Priority = strings.TrimSpace(cmp.Or(v.PostForm.Get("to"), v.URL.Query().Get("to")))
		a.Asks = a.Priority == ""
	}
	a.Secrets = q.Secrets
	return a, q, nil
}

// changed is what a command has changed, or would: of users and keys what is so then, of deposits and
// events how many.
type changed struct {
	app.Changed
	Secret      string         `json:"secret"` // a key that was made
	DisplayName string         `json:"display_name"`
	Mail        string         `json:"mail"`
	Rights      []people.Right `json:"rights"`
	Looked      *int64         `json:"looked_at"` // deposits that might have been chosen, nil = it is about others
	Moved       int64          `json:"done"`
	Missed      int64          `json:"missed"`
	Refused     int64          `json:"refused"`
	WhyRefused  string         `json:"why_refused"`
	Applied     []applied      `json:"items"`
}

// applied are events that could not be applied to the tables, of one thing.
type applied struct {
	Aggregate string `json:"aggregate"`
	Applied   int64  `json:"applied"`
	Waiting   int64  `json:"waiting"`
	Error     string `json:"error"`
}

// facts returns what is so then, and how many there are.
func (c *changed) facts() []fact {
	all := facts("Name", c.DisplayName, "Mail", c.Mail, "Rights", rightsOf(c.Rights))
	if c.Looked != nil {
		all = append(all, facts("Deposits that might be chosen", c.Looked, "Chosen", c.Moved, "Left meanwhile", c.Missed, "Refused", c.Refused, "Why", c.WhyRefused)...)
	}
	for _, of := range c.Applied {
		all = append(all, facts(of.Aggregate, cell.Reason{Message: fmt.Sprintf("%s applied, %s held. %s", cell.Count(of.Applied), cell.Count(of.Waiting), of.Error)})...)
	}
	return all
}

// page returns the page of an action.
func (a act) page(kind string) page {
	p := page{Name: "act", Title: question.Title(kind, a.Verb, cell.Short(a.Name)), Where: kind, Data: a}
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
	return []doable{{"Release the held batches", form.Address(Path+"batches/all", chosen, "", "")}, {"Release the held jobs", form.Address(Path+"jobs/all", chosen, "", "")}}
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

// versionOf returns the version of a thing as a header has it, "" = it has none.
func versionOf(v *visit, kind, name string) (string, error) {
	shows := question.Actions[kind].Shows
	if shows == "" || name == "" {
		return "", nil
	}
	r, err := v.Operation(shows, nil, question.Names(shows, name)...)
	if err != nil {
		return "", err
	}
	answered := &ask.Answer{}
	v.API.ServeHTTP(answered, r)
	if answered.Status >= http.StatusMultipleChoices {
		return "", ask.Problem(answered)
	}
	return answered.Header().Get("ETag"), nil
}

// tried shows what an action would change, unless it has to ask before.
func tried(v *visit, kind string, a act, q question.Question) (page, error) {
	now, err := versionOf(v, kind, a.Name)
	if err != nil {
		return page{}, err
	}
	a.Match = now
	if a.Asks {
		return a.page(kind), nil
	}
	given, header := form.Placeholder(q.Secrets), http.Header{}
	for _, f := range a.Fields {
		given[f.Name] = f.Values
	}
	if sent := v.PostForm.Get("match"); sent != "" { // of what the fields were filled with
		a.Match = sent
		header.Set("If-Match", sent)
	}
	// What needs a reason is tried with one.
	err = a.request(v, q, given, "preview", a.query(url.Values{"dry_run": {"true"}}), header)
	p := a.page(kind)
	if p.Status = 0; len(a.Fields) > 0 && a.Problem != nil {
		return a.again(v, kind, q, now)
	}
	return p, err
}

// again returns the page of an action that asks again, with what was written. If the thing has changed
// since it asked, what is written now is about the thing as it is now, of a version.
func (a act) again(v *visit, kind string, q question.Question, now string) (page, error) {
	a.Asks = true
	if a.Problem.Status == http.StatusPreconditionFailed {
		a.Match = now
	}
	if a.Match == now && q.Known != nil {
		known, err := q.Known(v, a.Name)
		if err != nil {
			return page{}, err
		}
		for i, f := range a.Fields {
			if f.Kind == "hidden" {
				a.Fields[i].Values = known[f.Name]
			}
		}
	}
	p := a.page(kind)
	p.Status = a.Problem.Status
	return p, nil
}

// request requests an action, and keeps what becomes of it.
func (a *act) request(v *visit, q question.Question, given url.Values, why string, query url.Values, header http.Header) (err error) {
	body, refused, err := q.Written(a.Name, given, strings.TrimSpace(why))
	if refused != nil || err != nil {
		a.Problem = refused
		return err
	}
	a.Change, a.Problem, err = ask.Try[changed](v, q.Operation, query, body, header, q.Named(a.Name, given)...)
	if c := a.Change; c != nil {
		a.Facts = c.facts()
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
			if len(a.Fields) > 0 && a.Problem.Status == http.StatusPreconditionFailed {
				version, err := versionOf(v, kind, a.Name)
				if err != nil {
					return page{}, err
				}
				return a.again(v, kind, q, version)
			}
		} else if to := madeAt[a.Verb]; a.Change != nil && kind == question.New && to != nil {
			a.Then = []doable{{"The page of what was made", to(a.Change.ID)}}
		} else if a.Change != nil && kind == "collections" && a.Verb == release {
			a.Then = heldBy(a.Name)
			a.Change.Effects = slices.DeleteFunc(a.Change.Effects, namesCommand)
		} else if a.Change != nil && a.Verb == "add" {
			a.Then = []doable{{"The page of the user", toUser(a.Change.ID)}}
		}
		return a.page(kind), err
	}
}

// maxAct bounds the form of an action, in bytes: a profile has 64 KiB, of which each byte may be sent as
// three.
const maxAct = 256 << 10

// form returns the page of a form that was sent; one that is too long or cannot be read is refused.
func (c *Console) form(show func(*visit) (page, error)) http.Handler {
	shown := c.page(func(v *visit) (page, error) {
		if err := v.ParseForm(); err != nil {
			return page{}, problem.Of(app.Invalid, "the form cannot be read", "send it from its page")
		}
		return show(v)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxAct)
		shown.ServeHTTP(w, r)
	})
}
