package domain_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
)

// batchDiagram draws [domain.BatchTransitions] as a Mermaid state diagram.
func batchDiagram() string {
	d := &diagram{}
	for _, s := range domain.BatchStates {
		d.state(string(s))
	}
	for _, t := range domain.BatchTransitions {
		d.arrow(string(t.From), string(t.To), t.Row+" "+string(t.Event))
	}
	d.arrow(string(domain.BatchDeleted), "", "")
	return d.String()
}

// jobDiagram draws [domain.JobTransitions] as a Mermaid state diagram. The rows that
// lead from many states to one are notes, so that the others can be seen.
func jobDiagram() string {
	d := &diagram{}
	for _, s := range append(slices.Clone(domain.JobStates), domain.JobDeleted) {
		d.state(string(s))
	}
	count := map[string]int{}
	for i, t := range domain.JobTransitions {
		if count[t.Row]++; fromMany(t) || i > 0 && domain.JobTransitions[i-1].Row == t.Row {
			continue
		}
		d.arrow(string(t.From), string(t.To), t.Row+" "+string(t.Event))
	}
	d.arrow(string(domain.JobDeleted), "", "")
	d.note(string(domain.JobDeleted), fmt.Sprintf("%s %s: from each of the %d other states, with its batch",
		domain.RowWithBatch, domain.EventJobDeleted, count[domain.RowWithBatch]))
	d.note(string(domain.JobFailed), fmt.Sprintf("%s %s: from each of the %d states before, by an operator",
		domain.RowCancel, domain.EventJobFailed, count[domain.RowCancel]))
	return d.String()
}

// batchTable returns [domain.BatchTransitions] as a Markdown table.
func batchTable() string {
	var b strings.Builder
	row(&b, "#", "from → to", "event", "who", "when")
	row(&b, "---", "---", "---", "---", "---")
	for _, t := range domain.BatchTransitions {
		row(&b, t.Row, from(string(t.From))+" → "+string(t.To), "`"+string(t.Event)+"`", t.By, or(t.Guard, "always"))
	}
	return b.String()
}

// fromMany reports whether a row leads to one state from many.
func fromMany(t domain.JobTransition) bool {
	return t.Row == domain.RowWithBatch || t.Row == domain.RowCancel
}

// jobTable returns [domain.JobTransitions] as a Markdown table, rows that lead to one
// state from many written once.
func jobTable() string {
	var b strings.Builder
	row(&b, "#", "from → to", "event", "who", "when", "last_successful_status", "retry_count", "reference in its batch")
	row(&b, "---", "---", "---", "---", "---", "---", "---", "---")
	for i, t := range domain.JobTransitions {
		start, ref := from(string(t.From)), reference(t.From.Sub(), t.To.Sub())
		if fromMany(t) && domain.JobTransitions[i-1].Row == t.Row {
			continue
		}
		switch t.Row {
		case domain.RowWithBatch:
			start, ref = "any", "removed"
		case domain.RowCancel:
			start = "any before failed"
		}
		last, retry := or(string(t.LastSuccessful), "keep"), "keep"
		if t.Retry {
			last, retry = "keep (is "+or(string(t.LastSuccessful), "null")+")", "+1"
		}
		switch {
		case t.From == domain.JobNone:
			last, retry = "null", "0"
		case t.To == domain.JobDeleted:
			last, retry = "–", "–"
		}
		row(&b, t.Row, start+" → "+string(t.To), "`"+string(t.Event)+"`", t.By, or(t.Guard, "always"), last, retry, ref)
	}
	return b.String()
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func from(state string) string { return or(state, "–") }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func reference(before, after domain.Sub) string {
	switch {
	case before == after:
		return "keep"
	case before == domain.SubNone:
		return "created in " + string(after)
	case after == domain.SubNone:
		return "removed from " + string(before)
	default:
		return string(before) + " → " + string(after)
	}
}

// diagram collects the lines of a Mermaid state diagram.
type diagram struct{ lines []string }

func (d *diagram) state(s string) {
	if id := mermaidID(s); id != s {
		d.lines = append(d.lines, fmt.Sprintf("state %q as %s", s, id))
	}
}

func (d *diagram) arrow(from, to, label string) {
	line := mermaidID(from) + " --> " + mermaidID(to)
	if label != "" {
		line += ": " + label
	}
	d.lines = append(d.lines, line)
}

func (d *diagram) note(state, text string) {
	d.lines = append(d.lines, "note right of "+mermaidID(state), "    "+text, "end note")
}

// String returns the diagram's text.
func (d *diagram) String() string {
	return "stateDiagram-v2\n    " + strings.Join(d.lines, "\n    ") + "\n"
}

// mermaidID returns a state's name as Mermaid takes it; none is its start and end.
func mermaidID(state string) string {
	if state == "" {
		return "[*]"
	}
	return strings.ReplaceAll(state, "-", "_")
}

// fileDiagram draws [domain.FileTransitions] as a Mermaid state diagram.
func fileDiagram() string {
	d := &diagram{}
	for _, t := range domain.FileTransitions {
		d.arrow(string(t.From), string(t.To), t.Row+" "+string(t.Event))
	}
	for _, s := range domain.FileStates {
		if s.Terminal() {
			d.arrow(string(s), "", "")
		}
	}
	return d.String()
}

// fileTable returns [domain.FileTransitions] as a Markdown table.
func fileTable() string {
	var b strings.Builder
	row(&b, "#", "from → to", "event", "who", "when", "attempts", "effect")
	row(&b, "---", "---", "---", "---", "---", "---", "---")
	for _, t := range domain.FileTransitions {
		row(&b, t.Row, from(string(t.From))+" → "+string(t.To), "`"+string(t.Event)+"`", t.By, or(t.Guard, "always"),
			or(string(t.Count), "keep"), or(t.Effect, "–"))
	}
	return b.String()
}

// slotDiagram draws [slot.Transitions] as a Mermaid state diagram.
func slotDiagram() string {
	d := &diagram{}
	for _, t := range slot.Transitions {
		d.arrow(string(t.From), string(t.To), t.Row+" "+string(t.Event))
	}
	return d.String()
}

// slotTable returns [slot.Transitions] as a Markdown table.
func slotTable() string {
	var b strings.Builder
	row(&b, "#", "from → to", "event", "who", "when")
	row(&b, "---", "---", "---", "---", "---")
	for _, t := range slot.Transitions {
		row(&b, t.Row, from(string(t.From))+" → "+string(t.To), "`"+string(t.Event)+"`", t.By, t.Guard)
	}
	return b.String()
}
