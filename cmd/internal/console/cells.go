package console

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
	link   struct{ text, to string }
	linked struct { // a number that leads to what it counts
		n  int64
		to string
	}
	state  string
	size   int64   // in bytes
	span   float64 // of time, in seconds
	reason struct{ class, code, message string }
	// bar is a sum of which each part has a share.
	bar struct {
		What  string
		Parts []part
	}
	part struct {
		Name, Text string // Text is what it counts, as people read it
		N          float64
		X, Width   float64 // of 100
	}
)

// cell is a value as the template "cell" shows it.
type cell struct {
	Kind   string // "", link, state, time, reason or bar
	Text   string
	To     string
	More   string // of a reason: its code and class
	Number bool   // it stands at the right
	Long   bool   // it has a word that is broken where the table is narrow
	Time   time.Time
	Bar    bar

	order any // what it is sorted by: string, float64 or time.Time; nil = none, which comes last
}

// maxShown is how many characters of a text a table shows; the page of the thing has all of them.
const maxShown = 160

// shown returns a text that outsiders wrote as it is shown: on one line, without what could change
// how the page around it reads.
func shown(s string) string { return text.Line(s) }

// short returns the begin of a text that is longer than a table shows.
func short(s string) string {
	if s = shown(s); utf8.RuneCountInString(s) > maxShown {
		return string([]rune(s)[:maxShown]) + "…"
	}
	return s
}

// cellOf returns a value as it is shown. nil and pointers to nothing are shown as a dash.
func cellOf(v any) cell {
	switch v := v.(type) {
	case nil:
		return cell{}
	case string:
		return cell{Text: short(v), order: orNone(v)}
	case link:
		return cell{Kind: "link", Text: short(v.text), To: v.to, order: orNone(v.text)}
	case linked:
		return cell{Kind: "link", Text: count(v.n), To: v.to, Number: true, order: float64(v.n)}
	case state:
		return cell{Kind: "state", Text: string(v), order: orNone(string(v))}
	case reason:
		if v == (reason{}) {
			return cell{}
		}
		return cell{Kind: "reason", Text: short(v.message), More: strings.Trim(short(v.code)+", "+acts[domain.Class(v.class).WhoActs()], ", "), order: v.code + v.message}
	case bar:
		return cell{Kind: "bar", Bar: v}
	case int:
		return cell{Text: count(int64(v)), Number: true, order: float64(v)}
	case int64:
		return cell{Text: count(v), Number: true, order: float64(v)}
	case size:
		return cell{Text: bytesOf(int64(v)), Number: true, order: float64(v)}
	case span:
		return cell{Text: spanOf(float64(v)), Number: true, order: float64(v)}
	case time.Time:
		if v.IsZero() {
			return cell{}
		}
		return cell{Kind: "time", Time: v.UTC(), order: v}
	case domain.Time:
		return cellOf(v.Time)
	case *time.Time:
		return cellOfPointer(v)
	case *domain.Time:
		return cellOfPointer(v)
	case *int64:
		return cellOfPointer(v)
	case *float64:
		if v == nil {
			return cell{}
		}
		return cellOf(span(*v))
	case *string:
		return cellOfPointer(v)
	}
	panic(fmt.Sprintf("a page shows no %T", v)) // a fault of the page, which a test finds
}

// longWord is from how many bytes on a word is broken.
const longWord = 30

// broken returns a cell with a mark if it has a long word.
func broken(c cell) cell {
	c.Long = slices.ContainsFunc(strings.Fields(c.Text), func(word string) bool { return len(word) > longWord })
	return c
}

// whole returns a value with all of its text, as the page of the thing shows it.
func whole(v any) cell {
	c := cellOf(v)
	switch v := v.(type) {
	case string:
		c.Text = shown(v)
	case link:
		c.Text = shown(v.text)
	case reason:
		c.Text = shown(v.message)
	}
	return c
}

// lines returns a text of several lines as it is shown.
func lines(s string) string {
	all := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range all {
		all[i] = shown(line)
	}
	return strings.Join(all, "\n")
}

func cellOfPointer[T any](v *T) cell {
	if v == nil {
		return cell{}
	}
	return cellOf(*v)
}

func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// acts says who must act on a reason.
var acts = map[domain.Acting]string{domain.ActsDepositor: "for the depositor", domain.ActsOperator: "for operators", domain.ActsService: "tried again by itself", domain.ActsNone: ""}

// plainOf returns a value as a file for spreadsheets has it.
func plainOf(v any) any {
	switch v := v.(type) {
	case link:
		return v.text
	case linked:
		return v.n
	case state:
		return string(v)
	case size:
		return int64(v)
	case span:
		return float64(v)
	case int:
		return int64(v)
	case reason:
		return strings.TrimPrefix(v.code+": "+v.message, ": ")
	case domain.Time:
		return v.Time
	case *time.Time:
		return plainOfPointer(v)
	case *int64:
		return plainOfPointer(v)
	case *float64:
		return plainOfPointer(v)
	case *string:
		return plainOfPointer(v)
	}
	return v
}

func plainOfPointer[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// compare orders two cells of a column; those without a value come last.
func (c cell) compare(d cell) int {
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

// reasonOf returns a reason of which the tables may have nothing.
func reasonOf(class, code, message *string) reason {
	of := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return reason{of(class), of(code), of(message)}
}

// counted is a part of a sum.
type counted struct {
	name string
	n    int64
}

// sumOf returns a bar of parts that are counted. Every part is in it, also one of none.
func sumOf(what string, parts ...counted) bar {
	b := bar{What: what}
	for _, p := range parts {
		b.Parts = append(b.Parts, part{Name: p.name, Text: count(p.n), N: float64(p.n)})
	}
	return b.drawn()
}

// drawn returns the bar with the share that each part has of the width: what is there can be seen.
func (b bar) drawn() bar {
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

// Sum returns the sum of the parts that are counted, as text: "3 completed, 1 failed".
func (b bar) Sum() string {
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

// count returns a number with a separator of thousands.
func count(n int64) string { return design.Count(n) }

func bytesOf(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if n < 1024 {
		return count(n) + " B"
	}
	f := float64(n)
	for i, unit := range units {
		if f /= 1024; f < 1024 || i == len(units)-1 {
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		}
	}
	return ""
}

// spanOf returns a span of time by its two largest units.
func spanOf(seconds float64) string {
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
		return fmt.Sprintf("%s d %d h", count(s/86400), s%86400/3600)
	}
}

// functions are those of the templates.
var functions = template.FuncMap{
	"cell": cellOf,
	"count": func(n any) string {
		if p, ok := n.(*int64); ok {
			return count(deref(p))
		}
		return count(n.(int64))
	},
	"shown":  shown,
	"text":   lines,
	"lower":  func(s any) string { return strings.ToLower(fmt.Sprint(s)) },
	"words":  func(s string) string { return strings.ReplaceAll(s, "_", " ") },
	"static": func(name string) string { return Path + "static/" + digest() + "/" + name },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"utc":    func(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" },
	"entry": func(name, to, label, where string) map[string]any {
		return map[string]any{"To": to, "Label": label, "Here": name == where}
	},
	"fixed": func(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) },
}
