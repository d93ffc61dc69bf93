package app

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Selection chooses events of the history; empty fields choose all, and what is
// given must all hold.
type Selection struct {
	From, To     uint64    // places in the log, both included; 0 = no bound
	Since, Until time.Time // by the log's clock: from Since on, before Until
	Batch        domain.BatchID
	Job          domain.JobID    // the job's own and its files'
	File         domain.FileHash // the file's own
	Types        []string        // such as job.failed, or job.* for all of a kind
	Actors       []string        // such as user/maria, or daemon/* for all that begin so
}

// all reports whether nothing is left out but by place or time.
func (s Selection) all() bool {
	return s.Batch == "" && s.Job == "" && s.File == "" && len(s.Types) == 0 && len(s.Actors) == 0
}

// check names everything that is wrong with the selection.
func (s Selection) check() error {
	var faults []error
	if s.To > 0 && s.From > s.To {
		faults = append(faults, fmt.Errorf("from %d to %d there is nothing", s.From, s.To))
	}
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
		faults = append(faults, fmt.Errorf("since %s until %s there is nothing", s.Since.Format(time.RFC3339), s.Until.Format(time.RFC3339)))
	}
	for _, t := range s.Types {
		if !slices.ContainsFunc(domain.Registry, func(d domain.EventDef) bool { return fits(t, string(d.Type)) }) {
			faults = append(faults, fmt.Errorf("no event type is %q: give one such as job.failed, or all of a kind such as job.*", t))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return &Error{Kind: Invalid, What: "select events", Err: errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")), Hint: "batch.*, job.*, file.* and setting.* choose all of a kind; `accession events tail` shows types as they come"}
	}
	return nil
}

// holds reports whether the event is chosen by what it says itself.
func (s Selection) holds(r domain.Recorded) bool {
	one := func(words []string, word string) bool {
		return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return fits(w, word) })
	}
	return (s.Batch == "" || r.BatchID == s.Batch) && (s.Job == "" || ofJob(r, s.Job)) &&
		(s.File == "" || r.Aggregate == s.File.Aggregate()) && one(s.Types, string(r.Type)) && one(s.Actors, string(r.Actor))
}

// ofJob reports whether the event is the job's own, or one of its files'.
func ofJob(r domain.Recorded, id domain.JobID) bool {
	if r.Aggregate == id.Aggregate() {
		return true
	}
	m, ok := domain.MoveOfFile(r.Data)
	return ok && m.JobID == id
}

// fits compares a word with a pattern, whose last character may be a star.
func fits(pattern, word string) bool {
	if begin, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(word, begin)
	}
	return pattern == word
}

// aggregate names the one whose events hold all that is chosen, if there is one.
func (s Selection) aggregate() *domain.Aggregate {
	if s.File != "" {
		a := s.File.Aggregate()
		return &a
	}
	return nil
}

// of names what is looked for in the index, the narrowest first.
func (s Selection) of() (domain.Aggregate, bool) {
	switch {
	case s.Job != "":
		return s.Job.Aggregate(), true
	case s.Batch != "":
		return s.Batch.Aggregate(), true
	}
	return domain.Aggregate{}, false
}

// within cuts a stretch of the log to the bounds; last 0 = no end.
func (s span) within(first, last uint64) (span, bool) {
	s.from = max(s.from, first, 1)
	if last > 0 && (s.to == 0 || s.to > last) {
		s.to = last
	}
	return s, s.to == 0 || cmp.Compare(s.from, s.to) <= 0
}

// span is a stretch of the log, both ends included; to 0 = no end.
type span struct{ from, to uint64 }
