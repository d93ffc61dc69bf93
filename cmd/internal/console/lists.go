package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
)

var entryColumns = table.Columns[entries.Work]{Operation: "compute.ls", Title: "Work in the compute queue", None: "No work is here: it is requested for files in slots and steps of profiles, or by an operator here.", List: []table.Column[entries.Work]{
	table.Col("id", "Entry", func(e entries.Work) any { return cell.To(string(e.ID), toEntry(string(e.ID))) }),
	table.Col("status", "State", func(e entries.Work) any { return cell.State(strings.ToLower(string(e.Status))) }),
	table.Col("dataset", "Dataset", func(e entries.Work) any { return linkOrNone(e.Dataset, toDataset) }),
	table.Col("group", "Group", func(e entries.Work) any { return e.Group }),
	table.Col("priority", "Priority", func(e entries.Work) any { return int(e.Priority) }),
	table.Col("submitter", "Requested by", func(e entries.Work) any { return e.Submitter }),
	table.Col("attempt", "Attempt", func(e entries.Work) any { return e.Attempt }),
	table.Col("worker", "Worker", func(e entries.Work) any { return e.Worker }),
	table.Col("requested_at", "Requested", func(e entries.Work) any { return e.Requested }),
	table.Col("claimed_at", "Taken", func(e entries.Work) any { return e.Claimed }),
	table.Col("ended_at", "Ended", func(e entries.Work) any { return e.Ended }),
	table.Col("reason", "Reason", func(e entries.Work) any { return e.Reason }),
}}

var datasetColumns = table.Columns[directories.Dataset]{Operation: "dataset.ls", Title: "Datasets", None: "There are no datasets of open directories: an operator adds one here, and then its directories.", Whole: true, List: []table.Column[directories.Dataset]{
	table.Col("name", "Dataset", func(d directories.Dataset) any { return cell.To(d.Name, toDataset(d.Name)) }),
	table.Col("collection", "Collection", func(d directories.Dataset) any { return d.Collection }),
	table.Col("profile", "Profile", func(d directories.Dataset) any { return d.Profile }),
	table.Col("group_pattern", "Groups", func(d directories.Dataset) any { return d.GroupPattern }),
	table.Col("by", "Set by", func(d directories.Dataset) any { return d.By }),
	table.Col("when", "Set", func(d directories.Dataset) any { return d.When }),
	table.Col("why", "Why", func(d directories.Dataset) any { return d.Why }),
}}

var directoryColumns = table.Columns[directories.Discovery]{Operation: "discover.ls", Title: "Open directories", None: "No directory is polled: an operator adds a dataset, and then its directories here.", Whole: true, List: []table.Column[directories.Discovery]{
	table.Col("name", "Name", func(d directories.Discovery) any { return cell.To(d.Name, toDirectory(d.Name)) }),
	table.Col("url", "Directory", func(d directories.Discovery) any { return d.URL }),
	table.Col("state", "State", func(d directories.Discovery) any {
		if d.Paused {
			return cell.State("paused")
		}
		return cell.State("polled")
	}),
	table.Col("dataset", "Dataset", func(d directories.Discovery) any { return cell.To(d.Dataset, toDataset(d.Dataset)) }),
	table.Col("group", "Group", func(d directories.Discovery) any { return d.Group }),
	table.Col("every_seconds", "Every", func(d directories.Discovery) any { return cell.Span(d.Every) }),
	table.Col("by", "Set by", func(d directories.Discovery) any { return d.By }),
	table.Col("when", "Set", func(d directories.Discovery) any { return d.When }),
	table.Col("why", "Why", func(d directories.Discovery) any { return d.Why }),
}}

var slotColumns = table.Columns[slots.Slot]{Operation: "slot.ls", Title: "Slots", None: "There are no slots: an operator adds one here, for the time in which files of a dataset are processed.", List: []table.Column[slots.Slot]{
	table.Col("id", "Slot", func(s slots.Slot) any { return cell.To(string(s.ID), toSlot(string(s.ID))) }),
	table.Col("status", "State", func(s slots.Slot) any { return cell.State(strings.ToLower(string(s.Status))) }),
	table.Col("opens_at", "Opens", func(s slots.Slot) any { return s.Opens }),
	table.Col("closes_at", "Closes", func(s slots.Slot) any { return s.Closes }),
	table.Col("files", "Files", func(s slots.Slot) any { return s.Files.All }),
	table.Col("", "Sum of files", func(s slots.Slot) any { return filesOfSlot(s) }),
	table.Col("made_by", "Made by", func(s slots.Slot) any { return s.MadeBy }),
	table.Col("reason", "Reason", func(s slots.Slot) any { return s.Reason }),
}}

var queryColumns = table.Columns[queries.Query]{Operation: "query.ls", Title: "Queries", None: "No list of identifiers was asked about: `accession query submit` sends one.", List: []table.Column[queries.Query]{
	table.Col("id", "Query", func(q queries.Query) any { return cell.To(string(q.ID), toQuery(string(q.ID))) }),
	table.Col("status", "State", func(q queries.Query) any { return cell.State(strings.ToLower(string(q.Status))) }),
	table.Col("submitter", "Asked by", func(q queries.Query) any { return q.Request.Submitter }),
	table.Col("received_at", "Received", func(q queries.Query) any { return q.Received }),
	table.Col("ended_at", "Ended", func(q queries.Query) any { return q.Ended }),
	table.Col("reason", "Reason", func(q queries.Query) any { return q.Reason }),
}}

var depositColumns = table.Columns[drops.Shown]{Operation: "drop.ls", Title: "Deposits that are no batches yet", None: "No file waits to become a batch: what was deposited is on the page of batches.", List: []table.Column[drops.Shown]{
	table.Col("id", "Deposit", func(d drops.Shown) any { return cell.To(d.ID, toDeposit(d.ID)) }),
	table.Col("state", "State", func(d drops.Shown) any { return cell.State(d.State) }),
	table.Col("file_name", "File", func(d drops.Shown) any { return d.FileName }),
	table.Col("submitter", "Depositor", func(d drops.Shown) any { return d.Submitter }),
	table.Col("profile", "Profile", func(d drops.Shown) any { return d.Profile }),
	table.Col("size", "Size", func(d drops.Shown) any { return cell.Size(d.Size) }),
	table.Col("received", "Received", func(d drops.Shown) any { return d.Received }),
	table.Col("refused", "Refused because", func(d drops.Shown) any {
		if d.Refused == nil {
			return nil
		}
		return d.Refused.Reason
	}),
}}

var computeWorkerColumns = table.Columns[entries.Worker]{Operation: "compute.workers", Title: "Workers of the compute queue", None: "No worker has work, and none has ended any in the last 24 hours: `accession compute worker` starts one.", Whole: true, List: []table.Column[entries.Worker]{
	table.Col("name", "Worker", func(w entries.Worker) any { return w.Name }),
	table.Col("kind", "Has it by", func(w entries.Worker) any { return w.Kind }),
	table.Col("entry", "Entry", func(w entries.Worker) any { return linkOrNone(string(w.Entry), toEntry) }),
	table.Col("dataset", "Dataset", func(w entries.Worker) any { return linkOrNone(w.Dataset, toDataset) }),
	table.Col("group", "Group", func(w entries.Worker) any { return w.Group }),
	table.Col("attempt", "Attempt", func(w entries.Worker) any { return w.Attempt }),
	table.Col("since", "Since", func(w entries.Worker) any { return w.Since }),
	table.Col("deadline", "Lease ends", func(w entries.Worker) any { return w.Deadline }),
	table.Col("completed", "Completed in 24 h", func(w entries.Worker) any { return w.Completed }),
	table.Col("failed", "Failed in 24 h", func(w entries.Worker) any { return w.Failed }),
}}

var poisonColumns = table.Columns[tables.PoisonEvent]{Operation: "poison.ls", Title: "Events that cannot be applied", None: "The tables have every event: there is nothing to do.", List: []table.Column[tables.PoisonEvent]{
	table.Col("seq", "Sequence", func(p tables.PoisonEvent) any { return strconv.FormatInt(p.Seq, 10) }),
	table.Col("type", "Type", func(p tables.PoisonEvent) any { return p.Type }),
	table.Col("id", "Event", func(p tables.PoisonEvent) any { return p.ID }),
	table.Col("batch_id", "Batch", func(p tables.PoisonEvent) any { return linkOrNone(p.BatchID, toBatch) }),
	table.Col("waits_for", "Waits behind", func(p tables.PoisonEvent) any { return p.WaitsFor }),
	table.Col("attempts", "Attempts", func(p tables.PoisonEvent) any { return p.Attempts }),
	table.Col("first_seen", "Held since", func(p tables.PoisonEvent) any { return p.FirstSeen }),
	table.Col("error", "Why", func(p tables.PoisonEvent) any { return p.Error }),
}}

var processorColumns = table.Columns[queues.Processor]{Operation: "processor.ls", Title: "Processors", None: "No processor is known: an operator adds one here.", Whole: true, List: []table.Column[queues.Processor]{
	table.Col("processor", "Processor", func(p queues.Processor) any { return p.Name }),
	table.Col("queue", "Queue", func(p queues.Processor) any { return p.Queue }),
	table.Col("state", "State", func(p queues.Processor) any {
		if p.Stopped {
			return cell.State("stopped")
		}
		return cell.State("open")
	}),
	onProcessor(change, func(queues.Processor) bool { return true }),
	onProcessor("start", func(p queues.Processor) bool { return p.Stopped }),
	onProcessor("stop", func(p queues.Processor) bool { return !p.Stopped }),
	onProcessor(remove, func(p queues.Processor) bool { return p.Setting > 0 }),
	table.Col("users", "Users", func(p queues.Processor) any {
		if p.ExcludeUsers {
			return "all but " + strings.Join(p.Users, ", ")
		}
		return strings.Join(p.Users, ", ")
	}),
	table.Col("preferred", "Preferred", func(p queues.Processor) any { return strings.Join(p.Preferred, ", ") }),
	table.Col("max_size", "Largest deposit", func(p queues.Processor) any {
		if p.MaxSize == 0 {
			return nil
		}
		return cell.Size(p.MaxSize)
	}),
	table.Col("workers", "Workers in each process", func(p queues.Processor) any { return p.Workers }),
	table.Col("source", "Said by", func(p queues.Processor) any { return p.Source }),
}}

// onProcessor is the way to an action on those processors on which it can be taken.
func onProcessor(verb string, on func(queues.Processor) bool) table.Column[queues.Processor] {
	label := question.Label("processors", verb)
	return table.Col("", label, func(p queues.Processor) any {
		if !on(p) {
			return nil
		}
		return cell.To(label, Path+"processors/"+url.PathEscape(domain.ProcessorName(p.Queue, p.Name))+"/do/"+verb)
	})
}

// further are the lists that are not about deposits.
type further struct {
	name, title, about string
	may                func(people.Self) bool
	show               func(*visit) (page, error)
	download           http.Handler
}

var age = []field{{Name: "since", Label: "From (UTC)", Kind: "date"}, {Name: "older_than", Label: "Before (UTC)", Kind: "date"}}

func everyone(people.Self) bool { return true }

// listOf returns a list that is not about deposits.
func listOf[T any](c *Console, name, about string, of table.Columns[T], may func(people.Self) bool, fields ...field) further {
	return further{name, of.Title, about, may, func(v *visit) (page, error) { return listPage(v, of, of.Title, "more", fields...) }, c.download(of.Download)}
}

// beginning returns a list whose page has the actions that make what it lists, for who takes them.
func (f further) beginning(may func(people.Self) bool, verbs ...string) further {
	show := f.show
	f.show = func(v *visit) (page, error) {
		p, err := show(v)
		if l, is := p.Data.(list); is && may(v.Self) {
			l.Actions = begins(verbs...)
			p.Data = l
		}
		return p, err
	}
	return f
}

// begins are the ways to actions that are about no thing.
func begins(verbs ...string) (all []doable) {
	for _, verb := range verbs {
		all = append(all, doable{question.Label(question.New, verb), Path + question.New + "/" + verb})
	}
	return all
}

// acts and actsOnAll report whether who looks acts on something, or on everything.
func acts(s people.Self) bool      { return mayAct(&visit{Self: s}, "") }
func actsOnAll(s people.Self) bool { return mayAct(&visit{Self: s}, everything) }

func (c *Console) further() []further {
	inCollection := []field{{Name: "collection", Label: "Collection"}, {Name: "profile", Label: "Profile"}}
	return append([]further{
		listOf(c, "directories", "Open directories that are polled", directoryColumns, everyone, append([]field{{Name: "dataset", Label: "Dataset"}, {Name: "state", Label: "State", Choices: []string{"polled", "paused"}}, {Name: "host", Label: "Server"}}, inCollection...)...).beginning(acts, "directory"),
		listOf(c, "datasets", "What is found in them", datasetColumns, everyone, inCollection...).beginning(acts, "dataset"),
		listOf(c, "slots", "When files of them are processed", slotColumns, everyone, append(append([]field{{Name: "dataset", Label: "Dataset"}, {Name: "state", Label: "State", Choices: []string{"PENDING", "ACTIVE", "DONE", "MISSED"}}}, inCollection...), age...)...).beginning(acts, "slot"),
		listOf(c, "compute", "Work of the compute queue, and who has it", entryColumns, everywhere, append(append([]field{{Name: "dataset", Label: "Dataset"}, {Name: "state", Label: "State", Choices: []string{"PENDING", "STAGING", "SUCCESSFUL", "FAILED", "PURGED"}}, {Name: "submitter", Label: "Requested by"}, {Name: "code", Label: "Code of the reason"}}, inCollection...), age...)...).beginning(actsOnAll, "work"),
		listOf(c, "objects", "What is stored: each object with its versions and their files", objectColumns, everyone, append([]field{{Name: "identifier", Label: "Identifier"}, {Name: "local_id", Label: "Local id"}, {Name: "title", Label: "Words of the title"}, {Name: "creator", Label: "Words of the creator"}, {Name: "file", Label: "Name of a file"}, {Name: "collection", Label: "Collection"}, {Name: "submitter", Label: "Depositor"}, {Name: "batch", Label: "Batch"}}, age...)...),
		c.withdrawals(),
		c.profiles().beginning(administers, "profile"),
		listOf(c, "processors", "Who serves the deposit queues, and which deposits each asks for", processorColumns, actsOnAll).beginning(actsOnAll, "processor"),
		listOf(c, "workers", "Who has work of the compute queue, and what workers ended in the last 24 hours", computeWorkerColumns, everywhere),
		listOf(c, "deposits", "Files that were sent and wait to become batches, and those of which none can be made", depositColumns, everyone, append([]field{{Name: "state", Label: "State", Choices: []string{drops.Waiting, drops.Refused}}, {Name: "submitter", Label: "Depositor"}}, slices.Concat(inCollection, age)...)...),
		listOf(c, "poison", "What the tables lack, and why", poisonColumns, everywhere, append([]field{{Name: "batch", Label: "Batch"}}, age...)...).beginning(actsOnAll, "poison-retry"),
		listOf(c, "queries", "Lists of identifiers that were asked about", queryColumns, everyone, append([]field{{Name: "submitter", Label: "Asked by"}, {Name: "state", Label: "State", Choices: []string{"received", "parked", "grabbed", "answered", "failed"}}}, age...)...),
	}, c.peopleLists()...)
}

// more leads to the lists that are not about deposits.
func (c *Console) more(v *visit) (page, error) {
	var all []reportLinks
	for _, f := range c.further() {
		if f.may(v.Self) {
			all = append(all, reportLinks{Name: f.title, About: f.about, Formats: []doable{{"show", Path + f.name}}})
		}
	}
	return page{Name: "more", Title: "More", Where: "more", Data: reportsPage{List: all}}, nil
}
