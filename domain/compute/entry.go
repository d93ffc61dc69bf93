package compute

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
)

// ID is "eid" and ten digits, those of the sequence of the entry.
type ID string

const idPrefix = "eid"

// NewID returns the id of the n-th entry, n from 1 to [entry.MaxSequence].
func NewID(n int64) ID { return ID(fmt.Sprintf("%s%010d", idPrefix, n)) }

// ParseID checks that s is the id of an entry.
func ParseID(s string) (ID, error) {
	if n := ID(s).Sequence(); n < 1 || string(NewID(n)) != s {
		return "", fmt.Errorf("%q is not an id: want %s and 10 digits, for example %s", s, idPrefix, NewID(42))
	}
	return ID(s), nil
}

// Sequence returns the number in the id, 0 if it is malformed.
func (id ID) Sequence() int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(string(id), idPrefix), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Aggregate names the entry as an aggregate.
func (id ID) Aggregate() domain.Aggregate {
	return domain.Aggregate{Kind: domain.KindEntry, ID: string(id)}
}

// Entry is the state of an entry of the compute queue.
type Entry struct {
	ID      ID
	Version int64 // number of its last event, from 1
	State   entry.State
	Work    entry.Work
	Request entry.Request
	Attempt int    // how often a worker has taken it, since it was requested or tried again
	Worker  string // that has it, "" = none
	Reason  *domain.Reason
	Result  *entry.Result
	// Passed is how often a younger entry of its priority was taken before it. It is in the
	// live state only: no event has it, and an entry that is restored begins at 0.
	Passed    int
	Requested domain.Time
	Modified  domain.Time
	CommandID string // the command that wrote Version
}

// Name returns the name of the nodes of the entry.
func (e Entry) Name() entry.Name {
	return entry.Name{Priority: e.Work.Priority, Group: e.Work.Of(), Sequence: e.ID.Sequence()}
}

// Owned reports whether a worker has the entry.
func (e Entry) Owned() bool { return e.State == entry.Staging }

// DefaultKey returns the key of work for which none is given: the same inputs for the same
// group of a dataset are the same work, whatever the priority.
func DefaultKey(w entry.Work, inputs []string) string {
	h := sha256.New()
	for _, part := range append([]string{w.Dataset, w.Group}, inputs...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}
