package lookup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

// Kind says what a line is taken for.
type Kind string

// The kinds of lines. A line begins with a kind and a colon, or its kind is seen from its
// form; one that has no such form is a [Name].
const (
	Batch      Kind = "batch"      // a batch id
	Job        Kind = "job"        // a job id
	Digest     Kind = "digest"     // the SHA-256 of a file, in hex
	Primary    Kind = "primary"    // the identifier of an object
	Local      Kind = "local"      // a name that a depositor gave an object
	Submission Kind = "submission" // the id of a submission
	Name       Kind = "name"       // one of the last three
)

// Kinds are those with which a line may begin.
var Kinds = []Kind{Batch, Job, Digest, Primary, Local, Submission}

// MaxIdentifier is how many bytes an identifier may have.
const MaxIdentifier = 1024

// shown is how many bytes of a wrong line are shown.
const shown = 200

// Line is one line of a list that asks for something.
type Line struct {
	Number int    // in the list, from 1
	Text   string // as it is written, safe to show
	Kind   Kind   // "" = it is wrong
	Value  string // what is looked up
	Fault  string // what is wrong with it and what to do, "" = nothing
}

// Parse reads a line of a list. It is false for a line that asks for nothing: it is blank,
// or begins with #.
func Parse(number int, line string) (Line, bool) {
	line = strings.Trim(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return Line{}, false
	}
	l := Line{Number: number, Text: text.Line(short(line))}
	var err error
	if l.Kind, l.Value, err = identify(line); err != nil {
		l.Kind, l.Value, l.Fault = "", "", err.Error()
	}
	return l, true
}

// identify returns what an identifier is taken for, and its value in its normal form.
func identify(line string) (Kind, string, error) {
	if len(line) > MaxIdentifier {
		return "", "", tooLong()
	}
	if err := text.Check(line); err != nil {
		return "", "", fmt.Errorf("the line %w", err)
	}
	if before, value, ok := strings.Cut(line, ":"); ok {
		for _, k := range Kinds {
			if strings.EqualFold(before, string(k)) {
				value, err := k.value(strings.Trim(value, " \t"))
				return k, value, err
			}
		}
	}
	for _, k := range []Kind{Batch, Job, Digest} {
		if value, err := k.value(line); err == nil {
			return k, value, nil
		}
	}
	return Name, line, nil
}

// value returns the normal form of an identifier of a kind.
func (k Kind) value(s string) (string, error) {
	switch k {
	case Batch:
		id, err := domain.ParseBatchID(s)
		return string(id), err
	case Job:
		id, err := domain.ParseJobID(s)
		return string(id), err
	case Digest:
		return digest(s)
	default:
		if s == "" {
			return "", fmt.Errorf("after %s: there is nothing; write the identifier", k)
		}
		return s, nil
	}
}

// digest returns a SHA-256 in lower case; its name may be before it.
func digest(s string) (string, error) {
	const digits = 64
	hex := strings.ToLower(s)
	for _, name := range []string{"sha256:", "sha-256:"} {
		hex = strings.TrimPrefix(hex, name)
	}
	if len(hex) != digits || strings.Trim(hex, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a digest; write the %d hex digits of a SHA-256", short(s), digits)
	}
	return hex, nil
}

func tooLong() error {
	return fmt.Errorf("the line has more than %d bytes; write one identifier on each line", MaxIdentifier)
}

// short returns the beginning of a text that may be long.
func short(s string) string {
	if len(s) <= shown {
		return s
	}
	cut := shown
	for cut > shown-4 && s[cut]&0xc0 == 0x80 { // within a character
		cut--
	}
	return s[:cut] + "…"
}

// ErrTooLarge is in the error of a list that has too many lines or bytes.
var ErrTooLarge = errors.New("the list is too large")

// ErrEmpty is the error of a list that asks for nothing.
var ErrEmpty = errors.New("the list asks for nothing: write one identifier on each line")
