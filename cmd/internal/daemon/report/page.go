package report

import (
	"cmp"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/page"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	shown "github.com/accession-ingest/accession/domain/text"
)

// pageOf returns the report as a page, with notes before it: what failed first, by its cause.
func pageOf(p profile.Profile, r Body, notes ...string) page.Page {
	made := page.Page{Title: Subject(r), Made: r.Made.UTC().Format("2006-01-02 15:04:05Z"), Zone: "UTC"}
	note := func(format string, args ...any) { made.Notes = append(made.Notes, fmt.Sprintf(format, args...)) }
	fact := func(label, value string) { made.Facts = append(made.Facts, page.Fact{Label: label, Value: value}) }
	if r.Problem != nil {
		note("Nothing was ingested: %s (%s)", shown.Line(r.Problem.Message), r.Problem.Code)
	}
	if n := len(r.Unexplained); n > 0 {
		note("%d are not accounted for; the operators know of it.", n)
	}
	for _, n := range notes {
		if n != "" {
			note("%s", n)
		}
	}
	fact("Batch", string(r.Batch))
	fact("Collection", p.Collection)
	fact("Submitter", shown.Line(r.Submitter))
	fact("Jobs", fmt.Sprintf("%d listed = %d completed + %d failed + %d deleted", r.Listed, r.Completed, r.Failed, r.Deleted))
	if l := r.MetadataRecords; l != nil {
		fact("Records", fmt.Sprintf("%d = %d Success + %d Warning + %d Failure", l.Success+l.Warning+l.Failure, l.Success, l.Warning, l.Failure))
	}
	add := func(title string, columns []string, rows [][]page.Cell) {
		if len(rows) > 0 {
			made.Tables = append(made.Tables, page.Table{Title: title, Columns: columns, Rows: each(rows)})
		}
	}
	add("Why jobs failed", []string{"jobs", "cause", "at", "who acts", "for instance"}, causes(r))
	add("Not taken from the manifest", []string{"warning"}, lines(r.Warnings))
	if l := r.MetadataRecords; l != nil {
		add("Records", []string{"outcome", "line", "record", "messages"}, l.rows())
	}
	for _, s := range sections(r) {
		title := s.title
		if len(s.jobs) > maxMailJobs {
			title = fmt.Sprintf("%s: the first %d of %d", s.title, maxMailJobs, len(s.jobs))
		}
		rows := make([][]page.Cell, 0, min(len(s.jobs), maxMailJobs))
		for _, j := range s.jobs[:min(len(s.jobs), maxMailJobs)] {
			rows = append(rows, j.cells())
		}
		add(title, []string{"job", "row", "name", "object", "version", "notes"}, rows)
	}
	return made
}

// causes returns the failures by what caused them, most first.
func causes(r Body) [][]page.Cell {
	type cause struct {
		code domain.Code
		host string
		acts domain.Acting
	}
	count, first := map[cause]int{}, map[cause]string{}
	for _, j := range r.Jobs {
		if j.State != domain.JobFailed || j.Reason == nil {
			continue
		}
		c := cause{code: j.Reason.Code, acts: j.Reason.Class.WhoActs()}
		if u, err := url.Parse(j.URL); err == nil {
			c.host = u.Host
		}
		if count[c]++; count[c] == 1 {
			first[c] = j.Reason.Message
		}
	}
	all := make([]cause, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b cause) int {
		return cmp.Or(count[b]-count[a], strings.Compare(string(a.code), string(b.code)), strings.Compare(a.host, b.host))
	})
	rows := make([][]page.Cell, 0, min(len(all), maxMailJobs))
	for _, c := range all[:min(len(all), maxMailJobs)] {
		rows = append(rows, []page.Cell{number(count[c]), cell(string(c.code)), cell(c.host), cell(string(c.acts)), cell(first[c])})
	}
	return rows
}

// cells returns the job's row.
func (j Job) cells() []page.Cell {
	var known []string
	if why := j.Reason; why != nil {
		known = append(known, fmt.Sprintf("%s: %s", why.Code, why.Message))
	}
	known = append(known, j.Warnings...)
	if n := len(j.LeftOut); n > 0 {
		known = append(known, fmt.Sprintf("made without %d files: %s", n, strings.Join(j.LeftOut[:min(n, maxMailFiles)], ", ")))
	}
	version := page.Cell{Number: true}
	if j.Version > 0 {
		version = number(j.Version)
	}
	return []page.Cell{cell(string(j.ID)), number(j.Row + 1), cell(j.Name), cell(j.Primary), version, cell(strings.Join(known, "; "))}
}

// rows returns the records that must be looked at.
func (r *MetadataRecords) rows() [][]page.Cell {
	rows := make([][]page.Cell, 0, len(r.Worst))
	for _, one := range r.Worst[:min(len(r.Worst), maxMailJobs)] {
		rows = append(rows, []page.Cell{cell(string(one.Outcome)), number(one.Line), cell(strings.TrimSpace(one.Identifier + "  " + one.Title)), cell(strings.Join(one.Messages, "; "))})
	}
	return rows
}

func lines(texts []string) [][]page.Cell {
	rows := make([][]page.Cell, 0, len(texts))
	for _, s := range texts[:min(len(texts), maxMailJobs)] {
		rows = append(rows, []page.Cell{cell(s)})
	}
	return rows
}

func cell(s string) page.Cell { return page.Cell{Text: shown.Line(s)} }
func number(n int) page.Cell  { return page.Cell{Text: strconv.Itoa(n), Number: true} }

func each(rows [][]page.Cell) iter.Seq2[[]page.Cell, error] {
	return func(yield func([]page.Cell, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}
