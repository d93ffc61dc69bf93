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
	"github.com/accession-ingest/accession/domain"
)

var entryColumns = columns[entries.Work]{operation: "compute.ls", title: "Work in the compute queue", none: "No work is here: it is requested for files and steps, or with `accession compute submit`.", list: []column[entries.Work]{
	{"id", "Entry", func(e entries.Work) any { return cell.To(string(e.ID), toEntry(string(e.ID))) }},
	{"status", "State", func(e entries.Work) any { return cell.State(strings.ToLower(string(e.Status))) }},
	{"dataset", "Dataset", func(e entries.Work) any { return linkOrNone(e.Dataset, toDataset) }},
	{"group", "Group", func(e entries.Work) any { return e.Group }},
	{"priority", "Priority", func(e entries.Work) any { return int(e.Priority) }},
	{"submitter", "Requested by", func(e entries.Work) any { return e.Submitter }},
	{"attempt", "Attempt", func(e entries.Work) any { return e.Attempt }},
	{"worker", "Worker", func(e entries.Work) any { return e.Worker }},
	{"requested_at", "Requested", func(e entries.Work) any { return e.Requested }},
	{"claimed_at", "Taken", func(e entries.Work) any { return e.Claimed }},
	{"ended_at", "Ended", func(e entries.Work) any { return e.Ended }},
	{"reason", "Reason", func(e entries.Work) any { return e.Reason }},
}}

var datasetColumns = columns[directories.Dataset]{operation: "dataset.ls", title: "Datasets", none: "There are no datasets of open directories.", whole: true, list: []column[directories.Dataset]{
	{"name", "Dataset", func(d directories.Dataset) any { return cell.To(d.Name, toDataset(d.Name)) }},
	{"collection", "Collection", func(d directories.Dataset) any { return d.Collection }},
	{"profile", "Profile", func(d directories.Dataset) any { return d.Profile }},
	{"group_pattern", "Groups", func(d directories.Dataset) any { return d.GroupPattern }},
	{"by", "Set by", func(d directories.Dataset) any { return d.By }},
	{"when", "Set", func(d directories.Dataset) any { return d.When }},
	{"why", "Why", func(d directories.Dataset) any { return d.Why }},
}}

var directoryColumns = columns[directories.Discovery]{operation: "discover.ls", title: "Open directories", none: "No directory is polled: `accession discover add` adds one.", whole: true, list: []column[directories.Discovery]{
	{"name", "Name", func(d directories.Discovery) any { return cell.To(d.Name, toDirectory(d.Name)) }},
	{"url", "Directory", func(d directories.Discovery) any { return d.URL }},
	{"state", "State", func(d directories.Discovery) any {
		if d.Paused {
			return cell.State("paused")
		}
		return cell.State("polled")
	}},
	{"dataset", "Dataset", func(d directories.Discovery) any { return cell.To(d.Dataset, toDataset(d.Dataset)) }},
	{"group", "Group", func(d directories.Discovery) any { return d.Group }},
	{"every_seconds", "Every", func(d directories.Discovery) any { return cell.Span(d.Every) }},
	{"by", "Set by", func(d directories.Discovery) any { return d.By }},
	{"when", "Set", func(d directories.Discovery) any { return d.When }},
	{"why", "Why", func(d directories.Discovery) any { return d.Why }},
}}

var slotColumns = columns[slots.Slot]{operation: "slot.ls", title: "Slots", none: "There are no slots.", list: []column[slots.Slot]{
	{"id", "Slot", func(s slots.Slot) any { return cell.To(string(s.ID), toSlot(string(s.ID))) }},
	{"status", "State", func(s slots.Slot) any { return cell.State(strings.ToLower(string(s.Status))) }},
	{"opens_at", "Opens", func(s slots.Slot) any { return s.Opens }},
	{"closes_at", "Closes", func(s slots.Slot) any { return s.Closes }},
	{"files", "Files", func(s slots.Slot) any { return s.Files.All }},
	{"", "Sum of files", func(s slots.Slot) any { return filesOfSlot(s) }},
	{"made_by", "Made by", func(s slots.Slot) any { return s.MadeBy }},
	{"reason", "Reason", func(s slots.Slot) any { return s.Reason }},
}}

var queryColumns = columns[queries.Query]{operation: "query.ls", title: "Queries", none: "No list of identifiers was asked about.", list: []column[queries.Query]{
	{"id", "Query", func(q queries.Query) any { return cell.To(string(q.ID), toQuery(string(q.ID))) }},
	{"status", "State", func(q queries.Query) any { return cell.State(strings.ToLower(string(q.Status))) }},
	{"submitter", "Asked by", func(q queries.Query) any { return q.Request.Submitter }},
	{"received_at", "Received", func(q queries.Query) any { return q.Received }},
	{"ended_at", "Ended", func(q queries.Query) any { return q.Ended }},
	{"reason", "Reason", func(q queries.Query) any { return q.Reason }},
}}

var depositColumns = columns[drops.Shown]{operation: "drop.ls", title: "Deposits that are no batches yet", none: "No file waits to become a batch.", list: []column[drops.Shown]{
	{"id", "Deposit", func(d drops.Shown) any { return cell.To(d.ID, toDeposit(d.ID)) }},
	{"state", "State", func(d drops.Shown) any { return cell.State(d.State) }},
	{"file_name", "File", func(d drops.Shown) any { return d.FileName }},
	{"submitter", "Depositor", func(d drops.Shown) any { return d.Submitter }},
	{"profile", "Profile", func(d drops.Shown) any { return d.Profile }},
	{"size", "Size", func(d drops.Shown) any { return cell.Size(d.Size) }},
	{"received", "Received", func(d drops.Shown) any { return d.Received }},
	{"refused", "Refused because", func(d drops.Shown) any {
		if d.Refused == nil {
			return nil
		}
		return d.Refused.Reason
	}},
}}

var computeWorkerColumns = columns[entries.Worker]{operation: "compute.workers", title: "Workers of the compute queue", none: "No worker has work, and none has ended any in the last 24 hours.", whole: true, list: []column[entries.Worker]{
	{"name", "Worker", func(w entries.Worker) any { return w.Name }},
	{"kind", "Has it by", func(w entries.Worker) any { return w.Kind }},
	{"entry", "Entry", func(w entries.Worker) any { return linkOrNone(string(w.Entry), toEntry) }},
	{"dataset", "Dataset", func(w entries.Worker) any { return linkOrNone(w.Dataset, toDataset) }},
	{"group", "Group", func(w entries.Worker) any { return w.Group }},
	{"attempt", "Attempt", func(w entries.Worker) any { return w.Attempt }},
	{"since", "Since", func(w entries.Worker) any { return w.Since }},
	{"deadline", "Lease ends", func(w entries.Worker) any { return w.Deadline }},
	{"completed", "Completed in 24 h", func(w entries.Worker) any { return w.Completed }},
	{"failed", "Failed in 24 h", func(w entries.Worker) any { return w.Failed }},
}}

var poisonColumns = columns[tables.PoisonEvent]{operation: "poison.ls", title: "Events that cannot be applied", none: "The tables have every event.", list: []column[tables.PoisonEvent]{
	{"seq", "Sequence", func(p tables.PoisonEvent) any { return strconv.FormatInt(p.Seq, 10) }},
	{"type", "Type", func(p tables.PoisonEvent) any { return p.Type }},
	{"id", "Event", func(p tables.PoisonEvent) any { return p.ID }},
	{"batch_id", "Batch", func(p tables.PoisonEvent) any { return linkOrNone(p.BatchID, toBatch) }},
	{"waits_for", "Waits behind", func(p tables.PoisonEvent) any { return p.WaitsFor }},
	{"attempts", "Attempts", func(p tables.PoisonEvent) any { return p.Attempts }},
	{"first_seen", "Held since", func(p tables.PoisonEvent) any { return p.FirstSeen }},
	{"error", "Why", func(p tables.PoisonEvent) any { return p.Error }},
}}

var processorColumns = columns[queues.Processor]{operation: "processor.ls", title: "Processors", none: "No processor is known.", whole: true, list: []column[queues.Processor]{
	{"processor", "Processor", func(p queues.Processor) any { return p.Name }},
	{"queue", "Queue", func(p queues.Processor) any { return p.Queue }},
	{"state", "State", func(p queues.Processor) any {
		if p.Stopped {
			return cell.State("stopped")
		}
		return cell.State("open")
	}},
	onProcessor(change, func(queues.Processor) bool { return true }),
	onProcessor("start", func(p queues.Processor) bool { return p.Stopped }),
	onProcessor("stop", func(p queues.Processor) bool { return !p.Stopped }),
	onProcessor(remove, func(p queues.Processor) bool { return p.Setting > 0 }),
	{"users", "Users", func(p queues.Processor) any {
		if p.ExcludeUsers {
			return "all but " + strings.Join(p.Users, ", ")
		}
		return strings.Join(p.Users, ", ")
	}},
	{"preferred", "Preferred", func(p queues.Processor) any { return strings.Join(p.Preferred, ", ") }},
	{"max_size", "Largest deposit", func(p queues.Processor) any {
		if p.MaxSize == 0 {
			return nil
		}
		return cell.Size(p.MaxSize)
	}},
	{"workers", "Workers in each process", func(p queues.Processor) any { return p.Workers }},
	{"source", "Said by", func(p queues.Processor) any { return p.Source }},
}}

// onProcessor is the way to an action on those processors on which it can be taken.
func onProcessor(verb string, on func(queues.Processor) bool) column[queues.Processor] {
	label := labelOf("processors", verb)
	return column[queues.Processor]{"", label, func(p queues.Processor) any {
		if !on(p) {
			return nil
		}
		return cell.To(label, Path+"processors/"+url.PathEscape(domain.ProcessorName(p.Queue, p.Name))+"/do/"+verb)
	}}
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
func listOf[T any](c *Console, name, about string, of columns[T], may func(people.Self) bool, fields ...field) further {
	return further{name, of.title, about, may, func(v *visit) (page, error) { return listPage(v, of, of.title, "more", fields...) }, c.download(of.download)}
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
		all = append(all, doable{labelOf(question.New, verb), Path + question.New + "/" + verb})
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
