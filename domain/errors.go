package domain

import (
	"fmt"
	"strings"
)

// Refused is the answer of a decision that the rules do not allow. It says in
// which state the aggregate is and what could be done instead.
type Refused struct {
	Aggregate Aggregate
	Command   string   // what was asked
	State     string   // the state it is in, "" = it does not exist
	Code      Code     // stable: illegal_transition, or the guard that refused
	Message   string   // one sentence
	Possible  []string // states that it may come to by itself or by a command, for CodeIllegal
}

// Error implements error.
func (r *Refused) Error() string {
	if r.Message != "" {
		return r.Message
	}
	state := r.State
	if state == "" {
		state = "not there"
	}
	msg := fmt.Sprintf("%s is %s: %s is not possible", r.Aggregate, state, r.Command)
	if len(r.Possible) > 0 {
		msg += " (possible from here: " + strings.Join(r.Possible, ", ") + ")"
	}
	return msg
}

// Unexpected is the answer of Evolve to an event that cannot follow: the history
// is damaged or was read in the wrong order.
type Unexpected struct {
	Aggregate Aggregate
	Type      EventType
	Version   int64 // of the event
	Have      int64 // version of the state it was applied to
	From      string
	State     string
}

// Error implements error.
func (u *Unexpected) Error() string {
	return fmt.Sprintf("%s: event %s number %d (from %q) cannot follow version %d in state %q",
		u.Aggregate, u.Type, u.Version, u.From, u.Have, u.State)
}
