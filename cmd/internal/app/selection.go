package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Selection selects events of the history; empty fields select all, and what is given
// must all hold.
type Selection struct {
	From, To     uint64    // sequences in the log, both included; 0 = no bound
	Since, Until time.Time // by the log's clock: from Since on, before Until
	Batch        domain.BatchID
	Job          domain.JobID    // the job's own and its files'
	File         domain.FileHash // the file's own
	Types        []string        // such as job.failed, or job.* for all of a kind
	Actors       []string        // such as user/maria, or daemon/* for all with this prefix
}

// All reports whether the selection is only by sequence or time.
func (s Selection) All() bool {
	return s.Batch == "" && s.Job == "" && s.File == "" && len(s.Types) == 0 && len(s.Actors) == 0
}

// Check reports everything that is wrong with the selection.
func (s Selection) Check() error {
	var faults []string
	if s.To > 0 && s.From > s.To {
		faults = append(faults, fmt.Sprintf("from %d to %d there is nothing", s.From, s.To))
	}
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
		faults = append(faults, fmt.Sprintf("since %s until %s there is nothing", s.Since.Format(time.RFC3339), s.Until.Format(time.RFC3339)))
	}
	for _, t := range s.Types {
		if !slices.ContainsFunc(domain.Registry, func(d domain.EventDef) bool { return fits(t, string(d.Type)) }) {
			faults = append(faults, fmt.Sprintf("no event type is %q: give one such as job.failed, or all of a kind such as job.*", t))
		}
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// Holds reports whether the selection has the event.
func (s Selection) Holds(r domain.Recorded) bool {
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
