package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/failures"
	"github.com/accession-ingest/accession/cmd/internal/app/hint"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
)

// failed are the failed jobs of one reason, with the ways to them.
type failed struct {
	failures.Failure
	to      string // the list of them
	requeue string // the preview of requeueing just these, "" = the caller may not, or no filter chooses just these
}

var failureGroups = table.Columns[failed]{Operation: "job.failures", Title: "Failed jobs by reason", None: "No job has failed, as far as these conditions choose: there is nothing to do.", Whole: true, List: []table.Column[failed]{
	table.Col("jobs", "Jobs", func(f failed) any { return cell.CountTo(f.Jobs, f.to) }),
	table.Col("", "Action", func(f failed) any {
		if f.requeue == "" {
			return nil
		}
		return cell.To("Requeue", f.requeue)
	}),
	table.Col("code", "Reason", func(f failed) any { return cell.Why(f.Class, f.Code, f.Message) }),
	table.Col("", "What to do", func(f failed) any { return hint.Mend(domain.Class(f.Class), domain.Code(f.Code)) }),
	table.Col("host", "Server of the payload", func(f failed) any { return f.Host }),
	table.Col("collection", "Collection", func(f failed) any { return f.Collection }),
	table.Col("profile", "Profile", func(f failed) any { return f.Profile }),
	table.Col("first_failed_at", "First", func(f failed) any { return f.First }),
	table.Col("last_failed_at", "Last", func(f failed) any { return f.Last }),
	table.Col("example", "Example", func(f failed) any { return linkOrNone(f.Example, toJob) }),
}}

// failuresCSV is the list as a file has it: of as many groups as can be read at once.
var failuresCSV = table.Columns[failed]{Operation: failureGroups.Operation, List: failureGroups.List}

// failuresOf returns the groups of failed jobs that are chosen, and how many groups there are.
func failuresOf(v *visit, chosen url.Values) (all []failed, total int64, err error) {
	p, err := ask.Get[app.Page[failures.Failure]](v, "job.failures", chosen)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range p.Items {
		of := url.Values{}
		for _, name := range []string{"batch", "submitter", "since", "older_than"} {
			if value := chosen.Get(name); value != "" {
				of.Set(name, value)
			}
		}
		for name, value := range map[string]string{"state": string(domain.JobFailed), "code": f.Code, "host": f.Host, "collection": f.Collection, "profile": f.Profile} {
			if value != "" {
				of.Set(name, value)
			}
		}
		g := failed{Failure: f, to: Path + "jobs?" + of.Encode()}
		if f.Chosen == f.Jobs && f.Code != "" && mayAct(v, f.Collection) {
			of.Set("verb", "requeue")
			g.requeue = Path + "jobs/all?" + of.Encode()
		}
		all = append(all, g)
	}
	return all, deref(p.Total), nil
}

// failures shows failed jobs by reason, server, collection and profile.
func (c *Console) failures(v *visit) (page, error) {
	chosen, err := v.Parameters()
	if err != nil {
		return page{}, err
	}
	sort := v.URL.Query().Get("sort")
	if sort != "" {
		chosen.Set("limit", table.MostAtOnce) // all of them
	}
	all, total, err := failuresOf(v, chosen)
	if err != nil {
		return page{}, err
	}
	if sort != "" {
		if total > int64(len(all)) {
			return page{}, problem.Of(app.Invalid, "there are more than "+table.MostAtOnce+" groups, which are too many to sort", "choose fewer")
		}
		if err := failureGroups.Order(all, sort); err != nil {
			return page{}, err
		}
	}
	t := failureGroups.Table(all)
	t.Total = &total
	t.CSV = form.Address(v.URL.Path+".csv", table.WithoutPage(chosen), "sort", sort)
	failureGroups.Sortable(&t, v.URL.Path, v.URL.Query())
	if n := int64(len(all)); total > n {
		t.Title = "Failed jobs by reason: the " + cell.Count(n) + " largest groups of"
	}
	fields := append([]field{{Name: "batch", Label: "Batch"}}, slices.DeleteFunc(fieldsOfAll(nil), func(f field) bool { return f.Name == "state" })...)
	l := list{Fields: filter(v, fields...), Table: t, Path: v.URL.Path, Sort: sort}
	l.Chosen = slices.ContainsFunc(l.Fields, func(f field) bool { return f.Value != "" })
	return page{Name: "list", Title: "Failures", Where: "failures", Follow: "kind=job", Data: l}, nil
}

// shownFailures is how many groups of failed jobs the overview shows.
const shownFailures = 5

// fails adds the largest groups of failed jobs to what needs a person.
func (d *overviewPage) fails(v *visit) error {
	all, total, err := failuresOf(v, url.Values{"limit": {fmt.Sprint(shownFailures)}})
	for _, f := range all {
		text := cell.Count(f.Jobs) + " × " + cmp.Or(f.Code, "no reason")
		if f.Host != "" {
			text += " at " + cell.Line(f.Host)
		}
		text += ": " + cell.Short(f.Message)
		if who := cell.Acting[f.WhoActs]; who != "" {
			text += " (" + who + ")"
		}
		d.Person = append(d.Person, line{Text: text, To: f.to})
	}
	if more := total - int64(len(all)); more > 0 {
		d.Person = append(d.Person, line{Text: cell.Count(more) + " more reasons for which jobs have failed", To: Path + "failures"})
	}
	return err
}
