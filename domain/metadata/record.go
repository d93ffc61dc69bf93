package metadata

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain/text"
)

// Outcome says what became of a record.
type Outcome string

// The outcomes.
const (
	Success Outcome = "Success"
	Warning Outcome = "Warning" // it counts, and something of it should be corrected
	Failure Outcome = "Failure" // it does not count before it is corrected
)

// Outcomes lists the outcomes, the worst first.
var Outcomes = []Outcome{Failure, Warning, Success}

// Record is one record of a file.
type Record struct {
	Number     int     `json:"number"` // in the file, from 1
	Line       int     `json:"line"`   // where it begins
	Identifier string  `json:"identifier"`
	Title      string  `json:"title,omitempty"` // its beginning
	Outcome    Outcome `json:"outcome"`
	// Messages say what is wrong and what to do, one sentence each.
	Messages []string `json:"messages,omitempty"`
}

// Counts counts the records of a file by their outcome.
type Counts struct{ Success, Warning, Failure int }

// All returns the number of records.
func (c Counts) All() int { return c.Success + c.Warning + c.Failure }

// Add counts a record.
func (c *Counts) Add(o Outcome) {
	switch o {
	case Failure:
		c.Failure++
	case Warning:
		c.Warning++
	case Success:
		c.Success++
	}
}

// Limits in bytes of what a record has.
const (
	maxIdentifier = 512
	maxTitle      = 200 // that is reported
	maxValue      = 4 << 10
)

// key stands for an identifier: the beginning of its SHA-256.
type key [16]byte

// reading is a record being read.
type reading struct {
	number, line      int
	identifier, title value
}

func newReading(f *Format, number, line, depth int) *reading {
	return &reading{number: number, line: line,
		identifier: value{follower: follower{path: f.Identifier, base: depth}},
		title:      value{follower: follower{path: f.Title, base: depth}}}
}

func (r *reading) open(depth int, n Name) {
	r.identifier.begin(depth, n)
	r.title.begin(depth, n)
}

func (r *reading) close(depth int) {
	r.identifier.end(depth)
	r.title.end(depth)
}

func (r *reading) text(t []byte) {
	r.identifier.add(t)
	r.title.add(t)
}

// value is the text of the first element at a path.
type value struct {
	follower
	found int // elements at the path
	open  bool
	data  []byte
}

func (v *value) begin(depth int, n Name) {
	if v.follower.open(depth, n) {
		v.found++
		v.open = true
	}
}

func (v *value) end(depth int) {
	if v.follower.close(depth) {
		v.open = false
	}
}

func (v *value) add(t []byte) {
	if v.open && v.found == 1 && len(v.data) <= maxValue {
		if len(v.data) == 0 {
			t = bytes.TrimLeft(t, " \t\r\n")
		}
		v.data = append(v.data, t[:min(len(t), maxValue+1)]...)
	}
}

// words returns the text with single spaces between its words.
func (v *value) words() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(v.data), "")), " ")
}

// judge returns a record that was read, with its outcome.
func (c *checker) judge(r *reading) Record {
	out := Record{Number: r.number, Line: r.line, Outcome: Success}
	say := func(o Outcome, format string, args ...any) {
		if out.Outcome != Failure {
			out.Outcome = o
		}
		out.Messages = append(out.Messages, fmt.Sprintf(format, args...))
	}
	id := r.identifier.words()
	out.Identifier = text.Line(short(id, maxIdentifier))
	var bad *text.Error
	switch {
	case id == "":
		say(Failure, "it has no identifier: add one, at %s", excerpt(c.format.path(c.format.Identifier)))
	case len(id) > maxIdentifier:
		say(Failure, "its identifier has more than %d bytes: shorten it", maxIdentifier)
	case errors.As(text.Check(id), &bad):
		say(Failure, "its identifier %v", bad)
	default:
		if line := c.earlier(id, r.line); line > 0 {
			say(Failure, "the record of line %d has the same identifier: keep one of them, or correct one", line)
		}
	}
	if r.identifier.found > 1 {
		say(Warning, "it has %d identifiers, and the first one counts: remove the others", r.identifier.found)
	}
	if len(c.format.Title) == 0 {
		return out
	}
	title := r.title.words()
	if title == "" {
		say(Warning, "it has no title: add one, at %s", excerpt(c.format.path(c.format.Title)))
	} else if !text.Valid(title) {
		say(Warning, "its title has characters that cannot be seen: remove them")
	}
	out.Title = text.Line(short(title, maxTitle))
	return out
}

// earlier returns the line of an earlier record with an identifier, 0 = there is none,
// and notes the identifier.
func (c *checker) earlier(id string, line int) int {
	sum := sha256.Sum256([]byte(id))
	k := key(sum[:len(key{})])
	if before := c.seen[k]; before > 0 {
		return before
	}
	c.seen[k] = line
	return 0
}
