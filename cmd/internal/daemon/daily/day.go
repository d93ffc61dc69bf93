package daily

import (
	"fmt"
	"strings"
	"time"
)

// Day is what a mail says.
type Day struct {
	Lines    []Line    // what needs a person, what stops most first
	Failures []Failure // that were not resolved yet, the most frequent first
	Done     Done      // on the day before, in UTC
	// Unknown are sentences about what could not be looked at, and why.
	Unknown []string
}

// Line is one thing that needs a person.
type Line struct {
	What   string // a sentence
	Remedy string // a command that moves it on, or shows more
}

// Failure is a cause of failures.
type Failure struct {
	Kind, In, Code string // such as job, downloading, timeout
	Class          string // who must act
	Unresolved     int64  // how many still stand
	Last           string // the last message
}

// Done is what was done on a day.
type Done struct {
	Day                               time.Time
	Batches, Completed, Failed, Files int64
	Bytes                             int64
}

// most is how many causes of failures a mail has.
const most = 20

// needs counts what needs a person.
func (d Day) needs() int { return len(d.Lines) + len(d.Failures) + len(d.Unknown) }

func (d Day) subject(instance string) string {
	switch n := d.needs(); n {
	case 0:
		return instance + ": nothing needs a person"
	case 1:
		return instance + ": one thing needs a person"
	default:
		return fmt.Sprintf("%s: %d things need a person", instance, n)
	}
}

func (d Day) text(instance string, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s UTC\n", instance, at.UTC().Format("2006-01-02 15:04"))
	if d.needs() == 0 {
		b.WriteString("\nNothing is inconsistent or late, and nothing waits for a person.\n")
	}
	if len(d.Unknown) > 0 {
		b.WriteString("\nCould not be looked at:\n")
		for _, u := range d.Unknown {
			fmt.Fprintf(&b, "- %s\n", line(u))
		}
	}
	if len(d.Lines) > 0 {
		b.WriteString("\nInconsistent, late or waiting:\n")
		for _, l := range d.Lines {
			fmt.Fprintf(&b, "- %s\n  %s\n", line(l.What), l.Remedy)
		}
	}
	if len(d.Failures) > 0 {
		b.WriteString("\nFailed and not resolved, of the last 30 days:\n")
		for _, f := range d.Failures[:min(len(d.Failures), most)] {
			fmt.Fprintf(&b, "- %d × %s in %s: %s (%s). The last: %s\n", f.Unresolved, f.Kind, f.In, f.Code, f.Class, line(f.Last))
		}
		if more := len(d.Failures) - most; more > 0 {
			fmt.Fprintf(&b, "- and %d more causes\n", more)
		}
		b.WriteString("  accession report failures\n")
	}
	if !d.Done.Day.IsZero() {
		fmt.Fprintf(&b, "\nOn %s: %d batches deposited, %d jobs completed, %d failed, %d files with %d bytes downloaded.\n",
			d.Done.Day.Format(time.DateOnly), d.Done.Batches, d.Done.Completed, d.Done.Failed, d.Done.Files, d.Done.Bytes)
	}
	return b.String()
}

// line returns a text on one line of at most 300 characters: messages may have what a depositor
// or a server wrote.
func line(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 300 {
		r = append(r[:299], '…')
	}
	return string(r)
}
