package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// overviewPage answers three questions in their order: does something need a person, is something
// late, and does everything add up.
type overviewPage struct {
	Installation bool // what belongs to no collection is shown
	OK           bool // all servers answer; of those that do not, Person has a line each
	Person, Late []line
	Queues       table.Table
	Recent       table.Table
	More         string // address of all, "" = all are shown
	Batches      []fact
	Since        string    // from which day on the batches are
	Moment       *app.AsOf // nil: it is now
}

// line is one thing that needs a person, or is late.
type line struct{ Text, To, Remedy string }

// late are the codes of what stands still because it takes too long. Everything else needs a person.
var late = map[string]bool{standing.CodeWaits: true, standing.CodeOverdue: true, standing.CodeTypes: true, standing.CodeAuditLate: true}

// shownAt is which page shows more of what stands still.
var shownAt = map[string]string{standing.CodePaused: "queues", standing.CodeHeld: "batches?state=held", standing.CodeClosed: "queues", standing.CodeUnserved: "servers", standing.CodeHeap: "servers",
	standing.CodeOverdue: "files?state=downloading", standing.CodeTypes: "servers"}

// recentDays is from how many days the batches on the overview are.
const recentDays = 7

func (*Console) overview(v *visit) (page, error) {
	if at := form.Moment(v.URL.Query()); at.Has("at") {
		return overviewAt(v, at)
	}
	in := table.In(v)
	d := overviewPage{Installation: everywhere(v.Self), Since: time.Now().UTC().AddDate(0, 0, -recentDays).Format(time.DateOnly)}
	if d.Installation {
		s, err := ask.Get[status.Status](v, "status.show", nil)
		if err != nil {
			return page{}, err
		}
		d.stands(in, s)
	} else if err := d.failed(v); err != nil {
		return page{}, err
	}
	if err := d.fails(v); err != nil {
		return page{}, err
	}
	p, err := ask.Get[app.Page[app.BatchSummary]](v, "batch.ls", url.Values{"since": {d.Since + "T00:00:00Z"}, "limit": {"20"}})
	if err != nil {
		return page{}, err
	}
	if p.Next != "" {
		d.More = Path + "batches?since=" + d.Since
		d.Recent = recentColumns.FirstIn(in, "recent", p.Items, Path+"batches", url.Values{"since": {d.Since}})
	} else {
		d.Recent = recentColumns.In(in, "recent", p.Items)
	}
	return page{Name: "overview", Title: "Overview", Where: "overview", Follow: "kind=batch,job,setting", Data: d, Tables: in}, nil
}

// recentColumns are the batches on the overview.
var recentColumns = table.Columns[app.BatchSummary]{Title: "Batches of the last seven days", None: "No batch was submitted in the last seven days: deposit one.", List: []table.Column[app.BatchSummary]{
	table.Col("id", "Batch", func(b app.BatchSummary) any { return cell.To(b.ID, toBatch(b.ID)) }),
	table.Col("title", "Title", func(b app.BatchSummary) any { return titleOf(b) }),
	table.Col("status", "State", func(b app.BatchSummary) any { return cell.State(b.Status) }),
	table.Col("rows_listed", "Jobs", func(b app.BatchSummary) any { return b.RowsListed }),
	table.Col("", "Sum of jobs", func(b app.BatchSummary) any { return jobsOf(b) }),
	table.Col("submitted_at", "Submitted", func(b app.BatchSummary) any { return b.SubmittedAt }),
}}

// failed adds the batches of the caller that have failed.
func (d *overviewPage) failed(v *visit) error {
	p, err := ask.Get[app.Page[app.BatchSummary]](v, "batch.ls", url.Values{"state": {string(domain.BatchFailed)}, "limit": {"10"}})
	for _, b := range p.Items {
		text := fmt.Sprintf("%s has failed: %s of %s jobs", cell.Line(titleOf(b)), cell.Count(b.JobsFailed), cell.Count(deref(b.RowsListed)))
		d.Person = append(d.Person, line{Text: text, To: toBatch(b.ID)})
	}
	if p.Next != "" {
		d.Person = append(d.Person, line{Text: "more batches have failed: these are the newest", To: Path + "batches?state=failed"})
	}
	return err
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// stands adds what stands still in the installation, and its counts.
func (d *overviewPage) stands(in *table.Within, s status.Status) {
	d.OK = s.OK()
	for _, server := range s.Servers {
		switch {
		case server.Lost:
			d.Person = append(d.Person, line{Text: server.Name + " has lost its data", To: Path + "servers", Remedy: "accession restore"})
		case !server.OK:
			d.Person = append(d.Person, line{Text: server.Name + " does not answer", To: Path + "servers", Remedy: "accession status"})
		}
	}
	for _, b := range s.Batches {
		d.Batches = append(d.Batches, fact{string(b.State), cell.Of(cell.CountTo(b.Batches, Path+"batches?state="+url.QueryEscape(string(b.State))))})
		if b.State == domain.BatchFailed && b.Batches > 0 {
			d.Person = append(d.Person, line{Text: cell.Count(b.Batches) + " batches have failed jobs", To: Path + "batches?state=failed"})
		}
	}
	for _, stands := range s.Standing {
		l := line{Text: cell.Line(stands.What), Remedy: stands.Remedy}
		if at := shownAt[stands.Code]; at != "" {
			l.To = Path + at
		}
		if words := strings.Fields(stands.Remedy); len(words) == 4 && words[2] == "show" {
			l.To = Path + map[string]string{"batch": "batches/", "job": "jobs/"}[words[1]] + url.PathEscape(words[3])
		}
		if late[stands.Code] {
			d.Late = append(d.Late, l)
		} else {
			d.Person = append(d.Person, l)
		}
	}
	if o := s.Outbox; o != nil && o.Seconds > lagOf.Seconds() {
		d.Late = append(d.Late, line{Text: fmt.Sprintf("the log is %s behind the live state, by %s events", cell.Seconds(o.Seconds), cell.Count(int64(o.Unsent))), To: Path + "servers"})
	}
	if p := s.Projection; p != nil && p.Seconds > lagOf.Seconds() {
		d.Late = append(d.Late, line{Text: fmt.Sprintf("the tables are %s behind the log, by %s events", cell.Seconds(p.Seconds), cell.Count(p.Events)), To: Path + "servers"})
	}
	oldest := map[string]standing.Oldest{}
	for _, o := range s.Oldest {
		if o.Kind == domain.KindJob {
			oldest[o.State] = o
		}
	}
	var waiting []waitingIn
	for _, q := range s.Queues {
		waiting = append(waiting, waitingIn{q, oldest[string(q.State)]})
	}
	d.Queues = waitingColumns.In(in, "waiting", waiting)
}

// lagOf is from when on what follows the live state is late.
const lagOf = time.Minute

// waitingIn are the jobs in a state, and the one that has waited longest.
type waitingIn struct {
	status.QueueStatus
	oldest standing.Oldest
}

var waitingColumns = table.Columns[waitingIn]{Title: "Live jobs by state", None: "ZooKeeper does not answer.", List: []table.Column[waitingIn]{
	table.Col("state", "State", func(w waitingIn) any { return cell.State(w.State) }),
	table.Col("jobs", "Jobs", func(w waitingIn) any {
		return cell.CountTo(int64(w.Jobs), Path+"jobs?state="+url.QueryEscape(string(w.State)))
	}),
	table.Col("oldest", "Waits longest", func(w waitingIn) any { return linkOrNone(w.oldest.ID, toJob) }),
	table.Col("since", "Since", func(w waitingIn) any { return w.oldest.Since }),
	table.Col("why", "For", func(w waitingIn) any { return w.oldest.Why }),
}}

// serversPage shows which servers answer, who works, and how far each is behind.
type serversPage struct {
	Servers, Workers, Hosts table.Table
	Facts                   []fact
}

var serverColumns = table.Columns[status.ServerStatus]{Title: "Servers", None: "No server is known.", List: []table.Column[status.ServerStatus]{
	table.Col("name", "Server", func(s status.ServerStatus) any { return s.Name }),
	table.Col("state", "State", func(s status.ServerStatus) any {
		switch {
		case s.Lost:
			return cell.State("lost")
		case s.OK:
			return cell.State("answers")
		}
		return cell.State("away")
	}),
	table.Col("seconds", "Answers in", func(s status.ServerStatus) any { return cell.Span(s.Seconds) }),
	table.Col("error", "Error", func(s status.ServerStatus) any { return s.Error }),
}}

var workerColumns = table.Columns[status.WorkerStatus]{Title: "Processes", None: "No process works: `accession serve` starts one.", List: []table.Column[status.WorkerStatus]{
	table.Col("id", "Process", func(w status.WorkerStatus) any { return w.ID }),
	table.Col("host", "Machine", func(w status.WorkerStatus) any { return w.Host }),
	table.Col("pid", "Number", func(w status.WorkerStatus) any { return fmt.Sprint(w.PID) }),
	table.Col("roles", "Roles", func(w status.WorkerStatus) any { return strings.Join(w.Roles, ", ") }),
	table.Col("since", "Since", func(w status.WorkerStatus) any { return w.Since }),
}}

var hostColumns = table.Columns[status.HostStatus]{Title: "Servers of depositors", None: "No step uses a server of a depositor now.", List: []table.Column[status.HostStatus]{
	table.Col("host", "Server", func(h status.HostStatus) any { return h.Host }),
	table.Col("permits", "Steps", func(h status.HostStatus) any { return h.Permits }),
	table.Col("limit", "At most", func(h status.HostStatus) any { return h.Limit }),
}}

func (*Console) servers(v *visit) (page, error) {
	s, err := ask.Get[status.Status](v, "status.show", nil)
	if err != nil {
		return page{}, err
	}
	in := table.In(v)
	d := serversPage{Servers: serverColumns.In(in, "servers", s.Servers), Workers: workerColumns.In(in, "processes", s.Workers), Hosts: hostColumns.In(in, "hosts", s.Hosts)}
	if o := s.Outbox; o != nil {
		d.Facts = append(d.Facts, facts("Events not in the log yet", o.Unsent, "The oldest of them waits for", cell.Span(o.Seconds))...)
	}
	if l := s.Log; l != nil {
		d.Facts = append(d.Facts, facts("Last sequence of the log", int64(l.Last))...)
	}
	if p := s.Projection; p != nil {
		d.Facts = append(d.Facts, facts("Events not in the tables yet", p.Events, "The tables are behind by", cell.Span(p.Seconds), "Events that cannot be applied", p.HeldEvents, "Migrations to come", p.PendingMigrations)...)
	}
	if t := s.Types; t != nil {
		d.Facts = append(d.Facts, facts("The stream by types is behind by", cell.Span(t.Seconds))...)
	}
	return page{Name: "servers", Title: "Servers", Where: "servers", Data: d, Tables: in}, nil
}

// queuesPage shows the queues of jobs and the deposit queues.
type queuesPage struct {
	Queues, Collections table.Table
	Actions             []way
	Boards              []boardOf
}

// way are the actions about one of several things.
type way struct {
	Name    string
	Actions []doable
}

// boardOf is how a deposit queue stands.
type boardOf struct {
	queues.Board
	Title string
	Facts []fact
	Users table.Table
}

var queueColumns = table.Columns[app.Queue]{Title: "Queues of jobs", None: "There are no queues.", List: []table.Column[app.Queue]{
	table.Col("queue", "Queue", func(q app.Queue) any { return q.Name }),
	table.Col("jobs", "Jobs", func(q app.Queue) any {
		if q.Name == domain.QueueIngest {
			return int64(q.Depth)
		}
		return cell.CountTo(int64(q.Depth), Path+"jobs?state="+url.QueryEscape(q.Name))
	}),
	table.Col("state", "State", func(q app.Queue) any {
		if q.Pause != nil {
			return cell.State("paused")
		}
		return cell.State("open")
	}),
	table.Col("since", "Paused since", func(q app.Queue) any { return holdOf(q.Pause).When }),
	table.Col("by", "By", func(q app.Queue) any { return holdOf(q.Pause).By }),
	table.Col("why", "Why", func(q app.Queue) any { return holdOf(q.Pause).Why }),
}}

var collectionColumns = table.Columns[app.Collection]{Title: "Collections", None: "No profile names a collection: an administrator makes a profile on the page of profiles.", List: []table.Column[app.Collection]{
	table.Col("collection", "Collection", func(c app.Collection) any {
		return cell.To(c.Name, Path+"batches?collection="+url.QueryEscape(c.Name))
	}),
	table.Col("state", "State", func(c app.Collection) any {
		if c.Hold != nil {
			return cell.State("held")
		}
		return cell.State("open")
	}),
	table.Col("since", "On hold since", func(c app.Collection) any { return holdOf(c.Hold).When }),
	table.Col("by", "By", func(c app.Collection) any { return holdOf(c.Hold).By }),
	table.Col("why", "Why", func(c app.Collection) any { return holdOf(c.Hold).Why }),
}}

func holdOf(h *domain.Hold) domain.Hold {
	if h == nil {
		return domain.Hold{}
	}
	return *h
}

var userColumns = table.Columns[queues.OfUser]{Title: "Who waits", None: "No deposit waits or runs.", List: []table.Column[queues.OfUser]{
	table.Col("user", "Depositor", func(u queues.OfUser) any { return u.User }),
	table.Col("waiting", "Waiting", func(u queues.OfUser) any { return u.Waiting }),
	table.Col("running", "Running", func(u queues.OfUser) any { return u.Running }),
	table.Col("concurrency", "At most", func(u queues.OfUser) any { return u.Limit }),
	table.Col("parked", "Parked", func(u queues.OfUser) any { return u.Parked }),
	table.Col("position", "Turn", func(u queues.OfUser) any {
		if u.Position == 0 {
			return nil
		}
		return u.Position
	}),
	table.Col("expected", "Expected in", func(u queues.OfUser) any { return u.Expected }),
	table.Col("obstacle", "Waits because", func(u queues.OfUser) any { return string(u.Why) }),
}}

func (*Console) queues(v *visit) (page, error) {
	all, err := ask.Get[app.Page[app.Queue]](v, "queue.ls", nil)
	if err != nil {
		return page{}, err
	}
	collections, err := ask.Get[app.Page[app.Collection]](v, "collection.ls", nil)
	if err != nil {
		return page{}, err
	}
	in := table.In(v)
	d := queuesPage{Queues: queueColumns.In(in, "queues", all.Items), Collections: collectionColumns.In(in, "collections", collections.Items)}
	for _, name := range []string{fair.QueueMetadata, fair.QueueQuery} {
		b, err := ask.Get[queues.Board](v, "queue.board", nil, name)
		if err != nil {
			return page{}, err
		}
		users := userColumns
		users.Title += " in the deposit queue " + name
		d.Boards = append(d.Boards, boardOf{Board: b, Title: "Deposit queue " + name, Users: users.In(in, name, b.Users),
			Facts: facts("Waiting", b.Waiting, "Running", b.Running, "Parked", b.Parked, "Nothing is grabbed", b.Stopped, "Not known", b.Unknown)})
	}
	if mayAct(v, "") {
		for _, b := range d.Boards {
			of := actionsOn(v, "deposit-queues", b.Queue, everything, nil)
			if !administers(v.Self) {
				of = slices.DeleteFunc(of, func(to doable) bool {
					return strings.HasSuffix(to.To, question.OfIntake[0]) || strings.HasSuffix(to.To, question.OfIntake[1])
				})
			}
			d.Actions = append(d.Actions, way{b.Title, of})
		}
		if mayAct(v, everything) {
			d.Actions = append(d.Actions, way{"Drop folder", begins("transfer-stop", "transfer-start")}, way{"Attempts at files", begins("timeouts")})
		}
		for _, q := range all.Items {
			d.Actions = append(d.Actions, way{"Queue " + q.Name, actionsOn(v, "queues", q.Name, "", nil)})
		}
		for _, c := range collections.Items {
			of := actionsOn(v, "collections", c.Name, c.Name, nil)
			if c.Hold == nil && deref(c.Batches)+deref(c.Jobs) > 0 && mayAct(v, c.Name) {
				of = append(of, heldBy(c.Name)...)
			}
			d.Actions = append(d.Actions, way{"Collection " + cell.Line(c.Name), of})
		}
	}
	return page{Name: "queues", Title: "Queues", Where: "queues", Follow: "kind=batch,job,query,setting", Data: d, Tables: in}, nil
}
