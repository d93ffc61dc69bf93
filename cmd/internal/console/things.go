package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
)

// thing is the page of a thing that is neither batch, job nor file: its state, what is known of it
// and what it has.
type thing struct {
	State   string
	Since   *time.Time
	Why     cell.Cell
	Sum     *cell.Bar
	Text    string // what a program wrote, on lines of its own
	Facts   []fact
	Tables  []table.Table
	Links   []doable
	Actions []doable
	In      *table.Within // of which the tables are, nil = they are lists
	Again   bool          // it changes without an event
}

// everything is the collection of what belongs to none: who acts on it acts on all.
const everything = "*"

// firstOf returns the items of a list as a table of the page of what they are of: if there are more,
// the list has them all.
func firstOf[T any](c table.Columns[T], in *table.Within, name string, p app.Page[T], of url.Values) table.Table {
	if p.Next == "" {
		return c.In(in, name, p.Items)
	}
	c.Title += ": the first"
	return c.FirstIn(in, name, p.Items, Path+name, of)
}

// page returns the page of the thing.
func (t thing) page(title, follow string) (page, error) {
	return page{Name: "thing", Title: cell.Short(title), Where: "more", Follow: follow, Again: t.Again, Data: t, Tables: t.In}, nil
}

func since(t domain.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}

func toEntry(id string) string     { return Path + "compute/" + url.PathEscape(id) }
func toSlot(id string) string      { return Path + "slots/" + url.PathEscape(id) }
func toDirectory(id string) string { return Path + "directories/" + url.PathEscape(id) }
func toDataset(id string) string   { return Path + "datasets/" + url.PathEscape(id) }
func toQuery(id string) string     { return Path + "queries/" + url.PathEscape(id) }
func toObject(id string) string    { return Path + "objects/" + url.PathEscape(id) }

func toVersion(id string, n int64) string {
	return toObject(id) + "/versions/" + strconv.FormatInt(n, 10)
}

var inputColumns = table.Columns[string]{Title: "Inputs", None: "It has no inputs.", List: []table.Column[string]{table.Col("input", "Input", func(s string) any { return s })}}

func (*Console) entry(v *visit) (page, error) {
	e, err := ask.Get[entries.Work](v, "compute.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	id, in := string(e.ID), table.In(v)
	t := thing{In: in, State: string(e.Status), Why: cell.Whole(cell.Reason{Message: e.Reason}), Actions: actionsOn(v, "compute", id, everything, nil), Tables: []table.Table{inputColumns.In(in, "inputs", e.Inputs)}}
	t.Facts = facts("Entry", id, "Dataset", linkOrNone(e.Dataset, toDataset), "Group", e.Group, "Key", e.Key, "Priority", int(e.Priority), "Requested by", e.Submitter, "Attempt", e.Attempt, "Worker", e.Worker,
		"Who must act", strings.TrimPrefix(cell.Acting[e.WhoActs], "for "), "Requested", e.Requested, "Taken", e.Claimed, "Ended", e.Ended)
	if job, ok := strings.CutPrefix(e.Key, "job/"); ok {
		job, _, _ = strings.Cut(job, "/")
		t.Links = append(t.Links, doable{"The job whose step it is", toJob(job)})
	}
	if r := e.Result; r != nil {
		t.Facts = append(t.Facts, facts("Exit status", r.ExitStatus, "Result", cell.Size(r.Size), "SHA-256 of the result", r.SHA256)...)
		if t.Text = r.LastLines; r.Value != nil {
			if text, err := json.MarshalIndent(r.Value, "", "  "); err == nil {
				t.Text = strings.TrimSpace(t.Text + "\n" + string(text))
			}
		}
		outputs := table.Columns[entry.Output]{Title: "Outputs", None: "The worker left no files beside the result.", List: []table.Column[entry.Output]{
			table.Col("name", "Name", func(o entry.Output) any {
				return cell.To(o.Name, toEntry(id)+"/outputs/"+url.PathEscape(o.Name))
			}),
			table.Col("size", "Size", func(o entry.Output) any { return cell.Size(o.Size) }), table.Col("sha256", "SHA-256", func(o entry.Output) any { return o.SHA256 })}}
		t.Tables = append(t.Tables, outputs.In(in, "outputs", r.Outputs))
	}
	return t.page("Work "+id, "kind=entry")
}

var slotLife = table.Columns[slots.Transition]{Title: "Life", None: "It has no states.", List: []table.Column[slots.Transition]{
	table.Col("to", "State", func(t slots.Transition) any { return cell.State(strings.ToLower(t.ToStatus)) }),
	table.Col("at", "From", func(t slots.Transition) any { return t.At }),
	table.Col("actor", "By", func(t slots.Transition) any { return t.Actor }),
	table.Col("reason", "Why", func(t slots.Transition) any { return cell.ReasonOf(t.ReasonClass, t.ReasonCode, t.ReasonMessage) }),
}}

func filesOfSlot(s slots.Slot) cell.Bar {
	return cell.Sum("files", cell.N("processed", s.Files.Processed), cell.N("ready", s.Files.Ready), cell.N("waiting", s.Files.Waiting), cell.N("skipped", s.Files.Skipped), cell.N("given_up", s.Files.GivenUp))
}

func (*Console) slot(v *visit) (page, error) {
	s, err := ask.Get[slots.View](v, "slot.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	sum, in := filesOfSlot(s.Slot), table.In(v)
	t := thing{In: in, State: string(s.Status), Since: since(s.Since), Why: cell.Whole(cell.Reason{Message: s.Reason}), Sum: &sum, Tables: []table.Table{slotLife.In(in, "life", s.Transitions)}}
	collection := ""
	if d, err := ask.Get[directories.Dataset](v, "dataset.show", nil, s.Dataset); err == nil {
		collection = d.Collection
	}
	t.Actions = actionsOn(v, "slots", string(s.ID), collection, nil)
	t.Facts = facts("Slot", string(s.ID), "Dataset", cell.To(s.Dataset, toDataset(s.Dataset)), "Group", s.Group, "Opens", s.Opens, "Closes", s.Closes, "Files", s.Files.All, "Arrived", s.Files.Arrived,
		"Size of those", cell.Size(s.Files.Bytes), "Made by", s.MadeBy)
	t.Links = []doable{{"Its files", form.Address(Path+"files", url.Values{"dataset": {s.Dataset}}, "group", s.Group)}}
	return t.page("Slot "+s.Group+" of "+s.Dataset, "kind=slot")
}

// groupWait is a group of a dataset that is not complete yet.
type groupWait struct{ group, waits string }

var groupWaits = table.Columns[groupWait]{Title: "Groups that wait", None: "No group waits.", List: []table.Column[groupWait]{
	table.Col("group", "Group", func(g groupWait) any { return g.group }), table.Col("waits", "Waits for", func(g groupWait) any { return g.waits })}}

func (*Console) directory(v *visit) (page, error) {
	d, err := ask.Get[directories.Discovery](v, "discover.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	in := table.In(v)
	t, collection := thing{State: "polled", In: in, Again: true}, ""
	if d.Paused {
		t.State = "paused"
	}
	if of, err := ask.Get[directories.Dataset](v, "dataset.show", nil, d.Dataset); err == nil {
		collection = of.Collection
	}
	t.Actions = actionsOn(v, "directories", d.Name, collection, nil)
	t.Facts = facts("Name", d.Name, "Directory", d.URL, "Dataset", cell.To(d.Dataset, toDataset(d.Dataset)), "Group", d.Group, "Groups by", d.GroupBy, "Polled every", cell.Span(d.Every), "Only names", d.Pattern,
		"Only newer than", d.NewerThan, "Set by", d.By, "Set", d.When, "Why", d.Why)
	if p := d.Last; p != nil {
		t.Why = cell.Whole(cell.Reason{Message: p.Error})
		t.Facts = append(t.Facts, facts("Last poll", cell.State(p.Outcome), "Begun", p.Begun, "Ended", p.Ended, "Next", p.Next, "Directories", p.Directories, "Files listed", p.Files, "New", p.New, "Changed", p.Changed, "Gone", p.Gone)...)
	}
	if g := d.Groups; g != nil {
		t.Facts = append(t.Facts, facts("Groups that became deposits", g.Deposited, "Groups that wait", g.Waiting)...)
		var waits []groupWait
		for _, w := range g.First {
			waits = append(waits, groupWait{w.Group, w.Waits})
		}
		t.Tables = []table.Table{groupWaits.In(in, "groups", waits)}
	}
	t.Links = []doable{{"Its files", Path + "files?dataset=" + url.QueryEscape(d.Dataset)}}
	return t.page(d.Name, "kind=setting")
}

func (*Console) dataset(v *visit) (page, error) {
	d, err := ask.Get[directories.Dataset](v, "dataset.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	polled, err := ask.Get[app.Page[directories.Discovery]](v, "discover.ls", url.Values{"dataset": {d.Name}})
	if err != nil {
		return page{}, err
	}
	opened, err := ask.Get[app.Page[slots.Slot]](v, "slot.ls", url.Values{"dataset": {d.Name}, "limit": {strconv.Itoa(shownOf)}})
	if err != nil {
		return page{}, err
	}
	in, of := table.In(v), url.Values{"dataset": {d.Name}}
	t := thing{In: in, Tables: []table.Table{firstOf(directoryColumns, in, "directories", polled, of), firstOf(slotColumns, in, "slots", opened, of)}}
	t.Facts = facts("Dataset", d.Name, "Collection", d.Collection, "Profile", d.Profile, "Groups", d.GroupPattern, "Files without a slot", d.WithoutSlot, "Set by", d.By, "Set", d.When, "Why", d.Why)
	t.Actions = actionsOn(v, "datasets", d.Name, d.Collection, nil)
	if d.Rules != nil {
		if text, err := json.MarshalIndent(d.Rules, "", "  "); err == nil {
			t.Text = string(text)
		}
	}
	name := url.QueryEscape(d.Name)
	t.Links = []doable{{"Its files", Path + "files?dataset=" + name}, {"Reconciliation: listed, downloaded and processed, with every difference", Path + "reports/reconciliation?dataset=" + name},
		{"Reconciliation as CSV", Path + "reports/reconciliation?dataset=" + name + "&format=csv"}, {"All its slots", Path + "slots?dataset=" + name}}
	if everywhere(v.Self) {
		t.Links = append(t.Links, doable{"Its work in the compute queue", Path + "compute?dataset=" + name})
	}
	return t.page(d.Name, "kind=slot,setting")
}

func (*Console) query(v *visit) (page, error) {
	q, err := ask.Get[queries.Query](v, "query.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	id, r := string(q.ID), q.Request
	t := thing{State: string(q.Status), Why: cell.Whole(cell.Reason{Message: q.Reason}), Actions: actionsOn(v, "queries", id, everything, nil)}
	t.Facts = facts("Query", id, "Asked by", r.Submitter, "File", r.FileName, "Size of the list", cell.Size(r.Size), "Lines", r.Lines, "Wrong lines", r.Wrong, "Processor", q.Processor, "Received", q.Received, "Begun", q.Grabbed, "Ended", q.Ended)
	if a := q.Answer; a != nil {
		sum := cell.Sum("lines", cell.N("completed", int64(a.Found)), cell.N("skipped", int64(a.NotFound)), cell.N("failed", int64(a.Wrong)))
		sum.Parts[0].Name, sum.Parts[1].Name, sum.Parts[2].Name = "found", "not_found", "wrong"
		t.Sum = &sum
		t.Links = []doable{{"The answers", toQuery(id) + "/report?format=html"}, {"As CSV", toQuery(id) + "/report?format=csv"}, {"As JSON", toQuery(id) + "/report?format=json"}}
	}
	if m := q.Mail; m != nil {
		t.Facts = append(t.Facts, facts("Mail", cell.State(string(m.State)), "Recipients", m.Recipients, "Attempts", m.Attempts, "Delivered", m.DeliveredAt, "Error", m.Error)...)
	}
	return t.page("Query "+id, "kind=query")
}

var objectColumns = table.Columns[objects.Object]{Operation: "object.ls", Title: "Objects", None: "No object is stored, as far as these conditions choose: one is when its job is recorded.", List: []table.Column[objects.Object]{
	table.Col("id", "Object", func(o objects.Object) any { return cell.To(o.ID, toObject(o.ID)) }),
	table.Col("title", "Title", func(o objects.Object) any { return o.Title }),
	table.Col("creator", "Creator", func(o objects.Object) any { return o.Creator }),
	table.Col("collection", "Collection", func(o objects.Object) any { return o.Collection }),
	table.Col("version", "Versions", func(o objects.Object) any { return o.Version }),
	table.Col("modified_at", "Changed", func(o objects.Object) any { return o.ModifiedAt }),
}}

func (*Console) object(v *visit) (page, error) {
	o, err := ask.Get[objects.View](v, "object.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	versions := table.Columns[objects.Version]{Title: "Versions", None: "It has no version.", List: []table.Column[objects.Version]{
		table.Col("version", "Version", func(n objects.Version) any { return cell.CountTo(n.Version, toVersion(o.ID, n.Version)) }),
		table.Col("files", "Files", func(n objects.Version) any { return n.Files }),
		table.Col("bytes", "Size", func(n objects.Version) any { return cell.Size(n.Bytes) }),
		table.Col("job_id", "Job", func(n objects.Version) any { return linkOrNone(n.JobID, toJob) }),
		table.Col("batch_id", "Batch", func(n objects.Version) any { return linkOrNone(n.BatchID, toBatch) }),
		table.Col("submitter", "Depositor", func(n objects.Version) any { return n.Submitter }),
		table.Col("stored_at", "Stored", func(n objects.Version) any { return n.StoredAt }),
	}}
	in := table.In(v)
	t := thing{In: in, Again: true, Tables: []table.Table{versions.In(in, "versions", o.Versions)}}
	t.Facts = facts("Object", o.ID, "Title", o.Title, "Creator", o.Creator, "Date", o.Date, "Local ids", strings.Join(o.LocalIDs, "; "), "Collection", o.Collection, "Owner", o.Owner, "Stored", o.CreatedAt, "Changed", o.ModifiedAt)
	if w := o.Tombstone; w != nil {
		t.State, t.Since, t.Why = "withdrawn", &w.Since, cell.Whole(w.Reason)
		t.Facts = append(t.Facts, facts("Withdrawal requested by", w.RequestedBy, "Approved by", w.ApprovedBy, "Content removed", w.RemovedAt)...)
	} else if mayAct(v, o.Collection) {
		t.Actions = []doable{{question.Label("objects", withdraw), toObject(o.ID) + "/do/" + withdraw}}
		t.Links = []doable{{"Objects whose withdrawal waits for a second user", Path + "withdrawals?state=requested"}}
	}
	return t.page(cmp.Or(o.Title, o.ID), "")
}

// filesOfVersion are the files of a version of an object, of which there may be many.
func filesOfVersion(v *visit) table.Columns[objects.File] {
	version := toObject(v.PathValue("id")) + "/versions/" + url.PathEscape(v.PathValue("n"))
	return table.Columns[objects.File]{Operation: "object.files", Names: []string{"id", "n"}, File: "/files.csv", Title: "Files", None: "It has no files.", List: []table.Column[objects.File]{
		table.Col("name", "Name", func(f objects.File) any {
			return cell.To(f.Name, version+"/files/"+url.PathEscape(f.Name)+"?kind="+url.QueryEscape(f.Kind))
		}),
		table.Col("kind", "From", func(f objects.File) any {
			return map[string]string{"producer": "the depositor", "system": "Accession"}[f.Kind]
		}),
		table.Col("size", "Size", func(f objects.File) any { return cell.Size(f.Size) }),
		table.Col("mime_type", "Type", func(f objects.File) any { return f.MimeType }),
		table.Col("sha256", "SHA-256", func(f objects.File) any { return f.SHA256 }),
	}}
}

func (*Console) version(v *visit) (page, error) {
	id, n := v.PathValue("id"), v.PathValue("n")
	files, err := filesOfVersion(v).Listed(v)
	if err != nil {
		return page{}, err
	}
	t := thing{Tables: []table.Table{files}, Links: []doable{{"All versions", toObject(id)}, {"Its storage manifest", toObject(id) + "/versions/" + url.PathEscape(n) + "/manifest"}}}
	t.Facts = facts("Object", cell.To(id, toObject(id)), "Version", n)
	return t.page("Version "+n+" of "+id, "")
}

// passed returns what sends the answer of an operation that is a file, with what the path names. A
// browser keeps it: it runs nothing of it.
func (c *Console) passed(name string, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Request: r, API: c.API}
		query, err := v.Parameters()
		var toAPI *http.Request
		if err == nil {
			values := make([]string, len(names))
			for i, n := range names {
				values[i] = r.PathValue(n)
			}
			toAPI, err = v.Operation(name, query, values...)
		}
		if err != nil {
			c.send(w, r, c.failed(r, err))
			return
		}
		for _, header := range []string{"Range", "If-Range", "If-None-Match"} {
			if value := r.Header.Get(header); value != "" {
				toAPI.Header.Set(header, value)
			}
		}
		c.API.ServeHTTP(&asReport{ResponseWriter: w, c: c, r: r}, toAPI)
	})
}

// things are the routes of pages of single things, and of files that they have.
func (c *Console) things() (all []Route) {
	for pattern, show := range map[string]func(*visit) (page, error){"compute/{id}": c.entry, "slots/{id}": c.slot, "directories/{id}": c.directory, "datasets/{id}": c.dataset, "queries/{id}": c.query,
		"people/{id}": c.person, "profiles/{id}": c.profile, "objects/{id}": c.object, "objects/{id}/versions/{n}": c.version} {
		all = append(all, Route{"GET " + Path + pattern, c.page(show), false})
	}
	files := func(v *visit, w http.ResponseWriter) error { return filesOfVersion(v).Download(v, w) }
	return append(all, Route{"GET " + Path + "objects/{id}/versions/{n}/files.csv", c.download(files), false}, Route{"GET " + Path + "queries/{id}/report", c.passed("query.report", "id"), false},
		Route{"GET " + Path + "compute/{id}/outputs/{name}", c.passed("compute.output", "id", "name"), false},
		Route{"GET " + Path + "objects/{id}/versions/{n}/manifest", c.passed("object.manifest", "id", "n"), false},
		Route{"GET " + Path + "objects/{id}/versions/{n}/files/{name}", c.passed("object.get", "id", "n", "name"), false})
}
