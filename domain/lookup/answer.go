package lookup

import "github.com/accession-ingest/accession/domain"

// Outcome says how a line was answered.
type Outcome string

// The outcomes.
const (
	Found    Outcome = "found"
	NotFound Outcome = "not found"
	Wrong    Outcome = "wrong" // the line cannot be looked up
)

// What an answer is about.
const (
	AboutBatch  = "batch"
	AboutJob    = "job"
	AboutObject = "object" // a stored version of it
	AboutFile   = "file"   // in a stored version of an object
)

// MaxAnswers is how many things of each sort one line is answered with, the newest of
// them; a local id stands for as many objects at most.
const MaxAnswers = 20

// Answer is one thing that is known of a line; a line has one answer or more.
type Answer struct {
	Line    int     `json:"line"` // of the list, from 1
	Text    string  `json:"text"` // the line, safe to show
	Kind    Kind    `json:"kind,omitempty"`
	Outcome Outcome `json:"outcome"`
	Message string  `json:"message,omitempty"` // of a wrong line, or why something failed or waits
	Known
}

// Known is what is known of a batch, a job, a stored version of an object, or a file.
type Known struct {
	About     string `json:"about,omitempty"`
	Batch     string `json:"batch_id,omitempty"`
	Job       string `json:"job_id,omitempty"`
	Primary   string `json:"primary,omitempty"`
	Version   int64  `json:"version,omitempty"` // of the object
	Status    string `json:"status,omitempty"`  // of a batch or job; current or superseded for what is stored
	Title     string `json:"title,omitempty"`
	File      string `json:"file_name,omitempty"`
	Submitter string `json:"submitter,omitempty"`
	// Collection is that which it belongs to, "" = none is known.
	Collection string      `json:"-"`
	Size       int64       `json:"size,omitempty"`  // in bytes, 0 = unknown
	Where      string      `json:"where,omitempty"` // key in the object store
	At         domain.Time `json:"at,omitzero"`     // when it came to its status
	Why        string      `json:"-"`               // message of the answer
}

// Match is a thing, and as what a value was looked up when it was found.
type Match struct {
	Kind  Kind
	Value string
	Known
}

// Answers answers lines with what was found for them, in the order of the lines and of
// the matches. A line that is a [Name] is answered with what was found as any of its
// kinds.
func Answers(lines []Line, found []Match) []Answer {
	type value struct {
		kind Kind
		of   string
	}
	things := map[value][]Match{}
	for _, m := range found {
		things[value{m.Kind, m.Value}] = append(things[value{m.Kind, m.Value}], m)
	}
	var all []Answer
	for _, l := range lines {
		before := len(all)
		for _, k := range l.Kind.stands() {
			for _, m := range things[value{k, l.Value}] {
				all = append(all, Answer{Line: l.Number, Text: l.Text, Kind: k, Outcome: Found, Message: m.Why, Known: m.Known})
			}
		}
		switch {
		case l.Fault != "":
			all = append(all, Answer{Line: l.Number, Text: l.Text, Outcome: Wrong, Message: l.Fault})
		case len(all) == before:
			all = append(all, Answer{Line: l.Number, Text: l.Text, Kind: l.Kind, Outcome: NotFound})
		}
	}
	return all
}

// stands returns the kinds that a line of a kind may be.
func (k Kind) stands() []Kind {
	switch k {
	case "":
		return nil
	case Name:
		return []Kind{Primary, Local, Submission}
	default:
		return []Kind{k}
	}
}

// Wanted returns the values of lines that are to be looked up as a kind.
func Wanted(lines []Line, as Kind) (values []string) {
	seen := map[string]bool{}
	for _, l := range lines {
		for _, k := range l.Kind.stands() {
			if k == as && !seen[l.Value] {
				seen[l.Value] = true
				values = append(values, l.Value)
			}
		}
	}
	return values
}
