package setting

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/text"
)

// Rules say which files of a dataset are processed, and what each of them waits for. Names
// are matched by globs of package path: of the name of a file, or where the glob has a
// slash of its path.
type Rules struct {
	// Names are those of files that are processed, none = all. Others are skipped.
	Names []string `json:"names,omitempty"`
	// MinSize and MaxSize bound the size of files that are processed, in bytes, 0 = no bound.
	MinSize int64 `json:"min_size,omitempty"`
	MaxSize int64 `json:"max_size,omitempty"`
	// MaxAgeSeconds is how old a file may be, from its time of modification on, 0 = any age.
	MaxAgeSeconds int64 `json:"max_age_seconds,omitempty"`
	// KeepDuplicates processes files whose content another file of the dataset has too.
	KeepDuplicates bool `json:"keep_duplicates,omitempty"`
	// Companions are files that must be there before others are processed.
	Companions []Companion `json:"companions,omitempty"`
	// MinFiles is how many files of its slot must be there before one is processed.
	MinFiles int `json:"min_files,omitempty"`
	// Stack is how many files before it, by time of modification, must be there.
	Stack int `json:"stack,omitempty"`
	// Predicate is a service that is asked whether a file may be processed, after all else that
	// it waits for is there; nil = none is.
	Predicate *Predicate `json:"predicate,omitempty"`
	// Metadata are the values that the metadata of a file must have, which the predicate says
	// with its answer. Files with others are skipped.
	Metadata []MetadataRule `json:"metadata,omitempty"`
	// Process lets workers of the compute queue process files that are ready, nil = no worker
	// does.
	Process *Process `json:"process,omitempty"`
	// Slots makes the slot of each group from its name, nil = operators make slots, and a
	// file whose group has none waits for none.
	Slots *SlotRule `json:"slots,omitempty"`
}

// Predicate is a service that says whether files may be processed.
type Predicate struct {
	// URL is where a file is described by POST, as JSON.
	URL string `json:"url"`
	// TimeoutSeconds is how long the service may take to answer, 0 = 10.
	TimeoutSeconds int64 `json:"timeout_seconds,omitempty"`
}

// Timeout returns how long the service may take to answer.
func (p Predicate) Timeout() time.Duration {
	return time.Duration(cmp.Or(p.TimeoutSeconds, 10)) * time.Second
}

// maxAnswerSeconds is how long a predicate may take at most.
const maxAnswerSeconds = 60

// check names what is wrong with a predicate, "" = nothing.
func (p *Predicate) check() string {
	if p == nil {
		return ""
	}
	u, err := url.Parse(p.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || len(p.URL) > maxPredicate:
		return fmt.Sprintf("the address of a predicate is a URL of http or https without user, query and fragment, of at most %d bytes: the log keeps it for ever, and readers see it", maxPredicate)
	case p.TimeoutSeconds < 0 || p.TimeoutSeconds > maxAnswerSeconds:
		return fmt.Sprintf("a predicate has 0 (10) to %d seconds to answer", maxAnswerSeconds)
	}
	return ""
}

const maxPredicate = 2048 // bytes of its URL

// MetadataRule says which values of the metadata of a file are taken. All that is set counts.
type MetadataRule struct {
	// Name is what the predicate calls the value.
	Name string `json:"name"`
	// Min and Max bound a number, nil = no bound.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Values are those that are taken, as they are written, none = any.
	Values []string `json:"values,omitempty"`
}

const (
	maxValue  = 64   // bytes of the name of a value
	minNumber = 1e-6 // which JSON writes without an exponent, as PostgreSQL does
	maxNumber = 1e15
	maxOption = 200 // bytes of a text
)

// check names what is wrong with a rule of metadata, "" = nothing.
func (m MetadataRule) check() string {
	switch {
	case m.Name == "" || len(m.Name) > maxValue || text.Line(m.Name) != m.Name:
		return fmt.Sprintf("a value of metadata has a name of 1 to %d bytes, on one line", maxValue)
	case m.Min == nil && m.Max == nil && len(m.Values) == 0:
		return fmt.Sprintf("say which values of %s are taken: min, max or values", m.Name)
	case !plain(m.Min) || !plain(m.Max) || m.Min != nil && m.Max != nil && *m.Min > *m.Max:
		return fmt.Sprintf("min and max of %s are 0 or have an amount of %g to %g, and min is not above max", m.Name, minNumber, maxNumber)
	case len(m.Values) > maxRules || slices.ContainsFunc(m.Values, func(s string) bool { return len(s) > maxOption || text.Line(s) != s }):
		return fmt.Sprintf("%s may be one of %d texts of at most %d bytes, on one line", m.Name, maxRules, maxOption)
	}
	return ""
}

// plain reports whether a bound is written in one way only.
func plain(bound *float64) bool {
	if bound == nil {
		return true
	}
	amount := math.Abs(*bound)
	return amount == 0 && !math.Signbit(*bound) || amount >= minNumber && amount <= maxNumber
}

// Process says how files that are ready wait in the compute queue.
type Process struct {
	// Priority is 0 to 999, the higher runs first, nil = the default.
	Priority *int `json:"priority,omitempty"`
}

// Companion is a file that another one of the same slot waits for.
type Companion struct {
	Of    string `json:"of,omitempty"` // glob of the files that wait, "" = all but companions
	Needs string `json:"needs"`        // glob of what they wait for; {name} and {stem} are those of the file that waits
}

const (
	maxRules = 50        // of a kind
	maxCount = 1_000_000 // files
)

// Check names every fault of the rules. r may be nil: there are none.
func (r *Rules) Check() error {
	if r == nil {
		return nil
	}
	faults := []error{r.Slots.Check()}
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	globs := func(what string, list ...string) {
		for _, glob := range list {
			if _, err := path.Match(glob, ""); err != nil || len(glob) > maxPattern {
				add("%q is no pattern of %s: write a glob of at most %d bytes, such as *.fits", glob, what, maxPattern)
			}
		}
	}
	globs("names", r.Names...)
	for _, c := range r.Companions {
		globs("the files that wait", c.Of)
		globs("companions", strings.NewReplacer("{name}", "n", "{stem}", "s").Replace(c.Needs))
		if c.Needs == "" {
			add("a companion has a name: write a glob, such as {stem}.xml")
		}
	}
	if len(r.Names) > maxRules || len(r.Companions) > maxRules {
		add("there may be %d patterns of names and companions each", maxRules)
	}
	if r.MinSize < 0 || r.MaxSize < 0 || r.MaxSize > 0 && r.MaxSize < r.MinSize {
		add("sizes are 0 or more, and the largest is not below the smallest")
	}
	if r.MaxAgeSeconds < 0 {
		add("an age is 0 (any) or more")
	}
	if r.MinFiles < 0 || r.MinFiles > maxCount || r.Stack < 0 || r.Stack > maxRules {
		add("a slot needs 0 to %d files, and a stack has 0 to %d", maxCount, maxRules)
	}
	if fault := r.Predicate.check(); fault != "" {
		add("%s", fault)
	}
	for _, m := range r.Metadata {
		if wrong := m.check(); wrong != "" {
			add("%s", wrong)
		}
	}
	if len(r.Metadata) > maxRules || len(r.Metadata) > 0 && r.Predicate == nil {
		add("there may be %d values of metadata, and a predicate that says them", maxRules)
	}
	if p := r.Process; p != nil && p.Priority != nil && entry.Priority(*p.Priority) != min(max(entry.Priority(*p.Priority), 0), entry.MaxPriority) {
		add("the priority of files is 0 to %d, the higher runs first", entry.MaxPriority)
	}
	return errors.Join(faults...)
}
