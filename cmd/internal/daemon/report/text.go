package report

import (
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	shown "github.com/accession-ingest/accession/domain/text"
)

// Subject returns the subject of the mail with a report.
func Subject(r Body) string {
	if r.Problem != nil {
		return fmt.Sprintf("Deposit %s could not be read", r.Batch)
	}
	if l := r.MetadataRecords; l != nil && r.Failed == 0 {
		return fmt.Sprintf("Deposit %s: %d records, %d with a warning, %d with a failure", r.Batch, l.Success+l.Warning+l.Failure, l.Warning, l.Failure)
	}
	return fmt.Sprintf("Deposit %s: %d completed, %d failed", r.Batch, r.Completed, r.Failed)
}

// Limits of a mail: how many jobs of a kind it names, how many files left out of a
// job, and its length in bytes.
const (
	maxMailJobs  = 200
	maxMailFiles = 20
	maxMailBytes = 256 << 10
)

// Text returns the report in words.
func Text(p profile.Profile, r Body) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Report on batch %s for %s.\n\nListed %d, completed %d, failed %d, deleted %d.\n", r.Batch, p.Collection, r.Listed, r.Completed, r.Failed, r.Deleted)
	if n := len(r.Unexplained); n > 0 {
		fmt.Fprintf(&b, "%d are not accounted for; the operators know of it.\n", n)
	}
	if r.Problem != nil {
		fmt.Fprintf(&b, "\nNothing was ingested: %s (%s)\n", shown.Line(r.Problem.Message), r.Problem.Code)
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintf(&b, "\nThe manifest was taken, but not all that it says:\n  %s\n", shown.Lines(strings.Join(r.Warnings, "\n  ")))
	}
	if r.MetadataRecords != nil {
		r.MetadataRecords.write(&b)
	}
	for _, s := range sections(r) {
		for i, j := range s.jobs {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s\n", s.title)
			}
			if i == maxMailJobs || b.Len() > maxMailBytes {
				b.WriteString("  and more: see the whole report\n")
				break
			}
			j.write(&b)
		}
	}
	return b.String()
}

// section is a part of the jobs of a report.
type section struct {
	title string
	jobs  []Job
}

// sections returns the jobs of a report, those first that must be looked at.
func sections(r Body) []section {
	failed := "Failed"
	if r.Kind == "update-report" {
		failed = "Unresolved"
	}
	those := func(title string, includes func(Job) bool) section {
		s := section{title: title}
		for _, j := range r.Jobs {
			if includes(j) {
				s.jobs = append(s.jobs, j)
			}
		}
		return s
	}
	return []section{
		{"Not accounted for", r.Unexplained},
		those(failed, func(j Job) bool { return j.State == domain.JobFailed }),
		those("Deleted", func(j Job) bool { return j.State == domain.JobDeleted }),
		those("Completed since the report before", func(j Job) bool { return j.New }),
		those("Completed", func(j Job) bool { return j.State == domain.JobCompleted && !j.New }),
	}
}

// write adds the job's lines to a mail.
func (j Job) write(b *strings.Builder) {
	object := shown.Line(j.Primary)
	if j.Version > 0 {
		object = fmt.Sprintf("version %d of %s", j.Version, object)
	}
	b.WriteString(strings.TrimSuffix(fmt.Sprintf("  %s  %s  %s", j.ID, shown.Line(j.Name), object), "  "))
	if j.Reason != nil {
		fmt.Fprintf(b, "\n    %s: %s", j.Reason.Code, shown.Line(j.Reason.Message))
	}
	if len(j.Warnings) > 0 {
		fmt.Fprintf(b, "\n    warning: %s", shown.Lines(strings.Join(j.Warnings, "\n    warning: ")))
	}
	if n := len(j.LeftOut); n > 0 {
		fmt.Fprintf(b, "\n    made without %d files: %s", n, shown.Line(strings.Join(j.LeftOut[:min(n, maxMailFiles)], ", ")))
		if n > maxMailFiles {
			b.WriteString(" and more")
		}
	}
	b.WriteString("\n")
}
