package views

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// Board writes a board as a table, and what is to be said beside it.
func Board(w io.Writer, b queues.Board) {
	fmt.Fprintf(w, "%s: %d waiting, %d running, %s parked", b.Queue, b.Waiting, b.Running, Parked(b.Parked))
	if b.Grabs != nil && *b.Grabs > 0 {
		fmt.Fprintf(w, "; %d grabbed in %s", *b.Grabs, render.Duration(time.Duration(b.Seconds*float64(time.Second))))
	}
	fmt.Fprintln(w)
	if b.Stopped != "" {
		fmt.Fprintf(w, "nothing is grabbed: %s\n", b.Stopped)
	}
	fmt.Fprintln(w)
	render.Rows(w, "no deposits", render.Row{"position", "user", "waiting", "running", "parked", "turn", "expected", "not served because"}, b.Users, func(u queues.OfUser) render.Row {
		position, expected := any(""), ""
		if u.Position > 0 {
			position, expected = u.Position, "unknown"
		}
		if u.Expected != nil {
			expected = "in " + render.Duration(time.Duration(*u.Expected*float64(time.Second)).Round(time.Second))
		}
		running := ""
		if u.Waiting+u.Running > 0 {
			running = fmt.Sprintf("%d of %d", u.Running, u.Limit)
		}
		why := ""
		if u.Position > 0 {
			why = u.Why.Text()
		}
		return render.Row{position, export.Line(u.User), u.Waiting, running, Parked(u.Parked), turnText(u), expected, why}
	})
	if len(b.Synchronous) > 0 {
		fmt.Fprintf(w, "\n%d synchronous deposits run, of %d that may\n", len(b.Synchronous), b.Pool)
		render.Rows(w, "", render.Row{"batch", "user"}, b.Synchronous, func(d queues.Direct) render.Row { return render.Row{d.Batch, export.Line(d.User)} })
	}
	for _, r := range b.Resting {
		fmt.Fprintf(w, "\n%s of %s counts as running, and all of its open jobs are held or wait for space: `accession queue free %s --reason WHY` frees its place\n", r.Batch, export.Line(r.User), r.Batch)
	}
	if b.Unknown != "" {
		fmt.Fprintf(w, "\nexpected times, parked deposits and resting batches are unknown: %s\n", export.Line(b.Unknown))
	}
}

// Parked writes how many deposits are parked, nil = not known.
func Parked(n *int64) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

// turnText says when the user has a turn.
func turnText(u queues.OfUser) string {
	lap := "this lap"
	if u.NextLap {
		lap = "next lap"
	}
	switch {
	case u.Position == 0:
		return ""
	case u.Before == nil:
		return lap
	case *u.Before == 0:
		return "next"
	}
	return fmt.Sprintf("%s, after %d", lap, *u.Before)
}

// Moved says what became of the deposits.
func Moved(w io.Writer, m queues.Moved) {
	verb := m.Verb + "ed"
	if m.DryRun {
		verb = "would be " + verb
	}
	for _, user := range slices.Sorted(maps.Keys(m.Users)) {
		fmt.Fprintf(w, "%s: %d %s\n", export.Line(user), m.Users[user], verb)
	}
	fmt.Fprintf(w, "%d %s of %d looked at", m.Done, verb, m.Looked)
	if m.Missed > 0 {
		fmt.Fprintf(w, "; %d had left meanwhile, or were no candidates", m.Missed)
	}
	fmt.Fprintln(w)
	if m.Refused > 0 {
		fmt.Fprintf(w, "%d are refused: %s\n", m.Refused, export.Line(m.Why))
	}
}

// Settings writes what is in effect in deposit queues.
func Settings(w io.Writer, all []queues.Shown) {
	var values []queues.Value
	for _, s := range all {
		values = append(values, s.Values...)
	}
	render.Rows(w, "no settings", render.Row{"queue", "setting", "value", "source", "since", "by", "why"}, values, func(v queues.Value) render.Row {
		since := any("")
		if !v.When.IsZero() {
			since = render.Time(v.When)
		}
		return render.Row{v.Queue, export.Line(v.Name), export.Line(v.Value), v.Source, since, export.Line(v.By), export.Line(v.Why)}
	})
	for _, s := range all {
		if s.Unknown != "" {
			fmt.Fprintf(w, "\n%s: who set a value, when and why is unknown where it is empty: %s\n", s.Queue, export.Line(s.Unknown))
		}
		if s.Parked == nil || *s.Parked > 0 {
			fmt.Fprintf(w, "\n%s: %s deposits are parked; `accession queue board` shows whose\n", s.Queue, Parked(s.Parked))
		}
		for _, broken := range s.Unreadable {
			fmt.Fprintf(w, "%s cannot be read, and %s counts as suspended: `accession verify --repair` writes it again\n", export.Line(broken), s.Queue)
		}
	}
}

// Processors writes a list of processors of deposit queues.
func Processors(w io.Writer, list []queues.Processor) {
	render.Rows(w, "no processors", render.Row{"queue", "processor", "asks for", "source"}, list, func(one queues.Processor) render.Row {
		return render.Row{one.Queue, one.Name, export.Line(queues.Criteria(one.Processor)), one.Source}
	})
}
