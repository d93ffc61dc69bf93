// Package cell has the values of the pages of the console as people read them: in tables, as facts
// about a thing and in files. It decides what of a text that outsiders wrote is shown.
package cell

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	design "github.com/accession-ingest/accession/cmd/internal/page"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

// What the values of tables and facts are, besides texts, numbers and times.
type (
	// Link is a text that leads somewhere: see [To].
	Link struct{ text, to string }
	// Linked is a number that leads to what it counts: see [CountTo].
	Linked struct {
		n  int64
		to string
	}
	// State is one of a thing.
	State string
	// Size is a number of bytes.
	Size int64
	// Span is a span of time, in seconds.
	Span float64
	// Reason is why something is as it is.
	Reason struct{ Class, Code, Message string }
	// Bar is a sum of which each part has a share.
	Bar struct {
		What  string
		Parts []Part
	}
	// Part is one of a Bar.
	Part struct {
		Name, Text string // Text is what it counts, as people read it
		N          float64
		X, Width   float64 // of 100
	}
)

// To returns a text that leads to an address.
func To(text, address string) Link { return Link{text, address} }

// CountTo returns a number that leads to the address of what it counts.
func CountTo(n int64, address string) Linked { return Linked{n, address} }

// Why returns a reason.
func Why(class, code, message string) Reason { return Reason{class, code, message} }

// Cell is a value as the template "cell" shows it.
type Cell struct {
	Kind   string // "", link, state, time, reason or bar
	Text   string
	To     string
	More   string // of a reason: its code and class
	Number bool   // it stands at the right
	Long   bool   // it has a word that is broken where the table is narrow
	Time   time.Time
	Bar    Bar

	order any // what it is sorted by: string, float64 or time.Time; nil = none, which comes last
}

// maxShown is how many characters of a text a table shows; the page of the thing has all of them.
const maxShown = 160

// Line returns a text that outsiders wrote as it is shown: on one line, without what could change
// how the page around it reads.
func Line(s string) string { return text.Line(s) }

// Short returns the begin of a text that is longer than a table shows.
func Short(s string) string {
	if s = Line(s); utf8.RuneCountInString(s) > maxShown {
		return string([]rune(s)[:maxShown]) + "…"
	}
	return s
}

// Of returns a value as it is shown. nil and pointers to nothing are shown as a dash.
func Of(v any) Cell {
	switch v := v.(type) {
	case nil:
		return Cell{}
	case string:
		return Cell{Text: Short(v), order: orNone(v)}
	case Link:
		return Cell{Kind: "link", Text: Short(v.text), To: v.to, order: orNone(v.text)}
	case Linked:
		return Cell{Kind: "link", Text: Count(v.n), To: v.to, Number: true, order: float64(v.n)}
	case State:
		return Cell{Kind: "state", Text: string(v), order: orNone(string(v))}
	case Reason:
		if v == (Reason{}) {
			return Cell{}
		}
		return Cell{Kind: "reason", Text: Short(v.Message), More: strings.Trim(Short(v.Code)+", "+Acting[domain.Class(v.Class).WhoActs()], ", "), order: v.Code + v.Message}
	case Bar:
		return Cell{Kind: "bar", Bar: v}
	case int:
		return Cell{Text: Count(int64(v)), Number: true, order: float64(v)}
	case int64:
		return Cell{Text: Count(v), Number: true, order: float64(v)}
	case Size:
		return Cell{Text: Bytes(int64(v)), Number: true, order: float64(v)}
	case Span:
		return Cell{Text: Seconds(float64(v)), Number: true, order: float64(v)}
	case time.Time:
		if v.IsZero() {
			return Cell{}
		}
		return Cell{Kind: "time", Time: v.UTC(), order: v}
	case domain.Time:
		return Of(v.Time)
	case *time.Time:
		return ofPointer(v)
	case *domain.Time:
		return ofPointer(v)
	case *int64:
		return ofPointer(v)
	case *float64:
		if v == nil {
			return Cell{}
		}
		return Of(Span(*v))
	case *string:
		return ofPointer(v)
	}
	panic(fmt.Sprintf("a page shows no %T", v)) // a fault of the page, which a test finds
}

// longWord is from how many bytes on a word is broken.
const longWord = 30

// Broken returns a cell with a mark if it has a long word.
func (c Cell) Broken() Cell {
	c.Long = slices.ContainsFunc(strings.Fields(c.Text), func(word string) bool { return len(word) > longWord })
	return c
}

// Whole returns a value with all of its text, as the page of the thing shows it.
func Whole(v any) Cell {
	c := Of(v)
	switch v := v.(type) {
	case string:
		c.Text = Line(v)
	case Link:
		c.Text = Line(v.text)
	case Reason:
		c.Text = Line(v.Message)
	}
	return c
}

// Lines returns a text of several lines as it is shown.
func Lines(s string) string {
	all := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range all {
		all[i] = Line(line)
	}
	return strings.Join(all, "\n")
}

func ofPointer[T any](v *T) Cell {
	if v == nil {
		return Cell{}
	}
	return Of(*v)
}

func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Acting says who must act on a reason.
var Acting = map[domain.Acting]string{domain.ActsDepositor: "for the depositor", domain.ActsOperator: "for operators", domain.ActsService: "tried again by itself", domain.ActsNone: ""}

// Plain returns a value as a file for spreadsheets has it.
func Plain(v any) any {
	switch v := v.(type) {
	case Link:
		return v.text
	case Linked:
		return v.n
	case State:
		return string(v)
	case Size:
		return int64(v)
	case Span:
		return float64(v)
	case int:
		return int64(v)
	case Reason:
		return strings.TrimPrefix(v.Code+": "+v.Message, ": ")
	case domain.Time:
		return v.Time
	case *time.Time:
		return plainPointer(v)
	case *int64:
		return plainPointer(v)
	case *float64:
		return plainPointer(v)
	case *string:
		return plainPointer(v)
	}
	return v
}

func plainPointer[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// Compare orders two cells of a column; those without a value come last.
func (c Cell) Compare(d Cell) int {
	switch x := c.order.(type) {
	case string:
		if y, ok := d.order.(string); ok {
			return cmp.Compare(strings.ToLower(x), strings.ToLower(y))
		}
	case float64:
		if y, ok := d.order.(float64); ok {
			return cmp.Compare(x, y)
		}
	case time.Time:
		if y, ok := d.order.(time.Time); ok {
			return x.Compare(y)
		}
	}
	return 0
}

// ReasonOf returns a reason of which the tables may have nothing.
func ReasonOf(class, code, message *string) Reason {
	of := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return Reason{of(class), of(code), of(message)}
}

// Empty reports whether there is nothing to sort it by: it comes last.
func (c Cell) Empty() bool { return c.order == nil }

// N returns a part of a sum.
func N(name string, n int64) Counted { return Counted{name, n} }

// Counted is a part of a sum: see [N].
type Counted struct {
	name string
	n    int64
}

// Sum returns a bar of parts that are Counted. Every part is in it, also one of none.
func Sum(what string, parts ...Counted) Bar {
	b := Bar{What: what}
	for _, p := range parts {
		b.Parts = append(b.Parts, Part{Name: p.name, Text: Count(p.n), N: float64(p.n)})
	}
	return b.Drawn()
}

// Drawn returns the bar with the share that each part has of the width: what is there can be seen.
func (b Bar) Drawn() Bar {
	const least = 1.0
	var sum float64
	for _, p := range b.Parts {
		sum += p.N
	}
	if sum == 0 {
		return b
	}
	var all, x float64
	for i := range b.Parts {
		if p := &b.Parts[i]; p.N > 0 {
			p.Width = max(p.N/sum*100, least)
			all += p.Width
		}
	}
	for i := range b.Parts {
		p := &b.Parts[i]
		p.X, p.Width = x, p.Width/all*100
		x += p.Width
	}
	return b
}

// Sum returns the sum of the parts that are Counted, as text: "3 completed, 1 failed".
func (b Bar) Sum() string {
	var words []string
	for _, p := range b.Parts {
		if p.N > 0 {
			words = append(words, p.Text+" "+strings.ReplaceAll(p.Name, "_", " "))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// Count returns a number with a separator of thousands.
func Count(n int64) string { return design.Count(n) }

// Bytes returns a number of bytes in the largest unit of which there is one.
func Bytes(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if n < 1024 {
		return Count(n) + " B"
	}
	f := float64(n)
	for i, unit := range units {
		if f /= 1024; f < 1024 || i == len(units)-1 {
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		}
	}
	return ""
}

// Seconds returns a span of time by its two largest units.
func Seconds(seconds float64) string {
	switch s := int64(seconds); {
	case seconds < 0:
		return "0 s"
	case seconds < 10:
		return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	default:
		return fmt.Sprintf("%s d %d h", Count(s/86400), s%86400/3600)
	}
}

// Functions are those of the templates.
var Functions = template.FuncMap{
	"cell": Of,
	"count": func(n any) string {
		if p, ok := n.(*int64); ok && p != nil {
			return Count(*p)
		} else if ok {
			return Count(0)
		}
		return Count(n.(int64))
	},
	"shown": Line,
	"text":  Lines,
	"lower": func(s any) string { return strings.ToLower(fmt.Sprint(s)) },
	"words": func(s string) string { return strings.ReplaceAll(s, "_", " ") },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"utc":   func(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" },
	"fixed": func(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) },
}
