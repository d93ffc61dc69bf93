// Package entry has what an entry of the compute queue is: what it asks for, its states and
// its name, as events and the live state hold them. Package compute has its rules.
package entry

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// State is the status of an entry.
type State string

// The states of an entry. None is the state before the first event, Purged that after the
// last; the others are those that the nodes of entries have always had. Running is only in
// the node of an entry whose worker has its inputs: events know it as Staging.
const (
	None       State = ""
	Pending    State = "PENDING"    // it waits for a worker
	Staging    State = "STAGING"    // a worker has taken it
	Running    State = "RUNNING"    // the worker has its inputs, and computes
	Successful State = "SUCCESSFUL" // its result is stored
	Failed     State = "FAILED"
	Purged     State = "PURGED"
)

// Ended reports whether no worker touches an entry in this state any more.
func (s State) Ended() bool { return s == Successful || s == Failed || s == Purged }

// Priority is the priority of an entry, 0 to MaxPriority: the higher one runs first. (That of
// a job is the other way round.)
type Priority int

// Bounds of priorities, and the one of an entry for which none is asked.
const (
	MaxPriority     Priority = 999
	DefaultPriority Priority = 100
)

// Before reports whether an entry of this priority runs before one of another.
func (p Priority) Before(o Priority) bool { return p > o }

// Work says what an entry is about. All its events have it.
type Work struct {
	Dataset  string   `json:"dataset"`
	Group    string   `json:"group,omitempty"` // of the dataset, "" = all of it
	Priority Priority `json:"priority"`
	Key      string   `json:"key"` // what is asked for twice under one key is one entry
}

// Group names a group of a dataset. What a worker keeps of it serves all its entries.
type Group struct{ Dataset, Group string }

// Of returns the group that the work is about.
func (w Work) Of() Group { return Group{w.Dataset, w.Group} }

// Request is what is asked for: the URLs of the inputs, in the order in which the worker's
// command gets them.
type Request struct {
	Submitter string   `json:"submitter"`
	Inputs    []string `json:"inputs"`
}

// Result is the outcome of the work. What the worker's command has written is in the table
// of results, under its digest.
type Result struct {
	ExitStatus int    `json:"exit_status"`
	SHA256     string `json:"sha256"` // of the result as JSON
	Size       int64  `json:"size"`   // of the same, in bytes
}

// Bounds of what may be asked for.
const (
	MaxName   = 128 // bytes of a dataset or group
	MaxKey    = 256 // bytes of a key
	MaxInputs = 100
	MaxInput  = 2048     // bytes of the URL of an input
	maxInputs = 16 << 10 // bytes of all of them, which one event holds
)

// Check refuses what cannot be an entry.
func (w Work) Check() error {
	if w.Dataset == "" {
		return fmt.Errorf("the dataset is missing")
	}
	for _, part := range [...]struct {
		what, value string
		max         int
	}{{"dataset", w.Dataset, MaxName}, {"group", w.Group, MaxName}, {"key", w.Key, MaxKey}} {
		if err := check(part.what, part.value, part.max); err != nil {
			return err
		}
	}
	switch {
	case w.Priority < 0 || w.Priority > MaxPriority:
		return fmt.Errorf("the priority is %d: give 0 to %d, the higher runs first", w.Priority, MaxPriority)
	case w.Key == "":
		return fmt.Errorf("the key is missing")
	}
	return nil
}

// Check refuses what cannot be asked for.
func (r Request) Check() error {
	if n := len(r.Inputs); n < 1 || n > MaxInputs {
		return fmt.Errorf("it has %d inputs: give 1 to %d", n, MaxInputs)
	}
	bytes := 0
	for _, in := range r.Inputs {
		if err := check("URL of an input", in, MaxInput); err != nil {
			return err
		}
		bytes += len(in)
	}
	if bytes > maxInputs {
		return fmt.Errorf("the URLs of its inputs have %d bytes: give at most %d", bytes, maxInputs)
	}
	return nil
}

func check(what, s string, most int) error {
	switch {
	case len(s) > most:
		return fmt.Errorf("the %s has %d bytes: give at most %d", what, len(s), most)
	case !utf8.ValidString(s) || strings.Contains(s, "\x00"):
		return fmt.Errorf("the %s is no text", what)
	case s == "." || s == "..":
		return fmt.Errorf("the %s cannot be %q", what, s)
	}
	return nil
}
