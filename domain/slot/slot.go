// Package slot has the rules of slots: a slot is a group of a dataset with its time window,
// in which the files of the group may become ready. It is pure; the time comes as an
// argument, and is the log's.
package slot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/text"
)

// Slot is the state of a slot.
type Slot struct {
	ID      ID
	Version int64 // number of its last event, from 1
	State   domain.SlotState
	Dataset string
	Group   string
	Opens   domain.Time // begin of its window
	Closes  domain.Time // end of its window
	Files   int         // that had arrived when it ended
	Reason  *domain.Reason
	// Since is the log's time of its last event, zero as long as only the writer knows of it.
	Since     domain.Time
	Modified  domain.Time // the writer's clock
	CommandID string      // the command that wrote Version
}

// States lists every state, in the order of the life of a slot.
var States = []domain.SlotState{domain.SlotPending, domain.SlotActive, domain.SlotDone, domain.SlotMissed}

// Ended reports whether a slot in this state has ended: its files are skipped.
func Ended(s domain.SlotState) bool { return s == domain.SlotDone || s == domain.SlotMissed }

// Transition is one row of the table of slots.
type Transition struct {
	Row      string
	From, To domain.SlotState
	Event    domain.EventType
	By       string
	Guard    string
}

// Transitions are all changes of a slot's state; nothing else is legal.
var Transitions = []Transition{
	{"S1", domain.SlotNone, domain.SlotPending, domain.EventSlotCreated, "operator, or by the name of its group", "its window has a begin and a later end"},
	{"S2", domain.SlotPending, domain.SlotActive, domain.EventSlotOpened, "sweeper or operator", "its window has begun, or a reason; the window is not over"},
	{"S3", domain.SlotActive, domain.SlotDone, domain.EventSlotClosed, "sweeper or operator", "its window is over and a file has arrived, or a reason"},
	{"S4", domain.SlotPending, domain.SlotMissed, domain.EventSlotMissed, "sweeper or operator", "its window is over without a file, or a reason"},
	{"S4", domain.SlotActive, domain.SlotMissed, domain.EventSlotMissed, "sweeper", "its window is over without a file"},
	{"S5", domain.SlotDone, domain.SlotActive, domain.EventSlotOpened, "operator", "a reason; its window has an end that is to come"},
	{"S5", domain.SlotMissed, domain.SlotActive, domain.EventSlotOpened, "operator", "a reason; its window has an end that is to come"},
}

// Codes of refusals and reasons.
const (
	CodeExists   domain.Code = "slot_exists"
	CodeBad      domain.Code = "bad_slot"
	CodeNotBegun domain.Code = "slot_not_begun" // its window
	CodeNotOver  domain.Code = "slot_not_over"  // its window
	CodeOver     domain.Code = "slot_over"      // its window
	CodeMissed   domain.Code = "slot_missed"    // no file had arrived
	CodeFromName domain.Code = "window_from_name"
)

// Command asks for a change of a slot.
type Command interface{ command() string }

// Commands for slots. Now is the log's time, asked when the command is made.
type (
	// Add makes the slot (S1). It has a reason if its window is from the name of its group.
	Add struct {
		Dataset, Group string
		Opens, Closes  domain.Time
		Reason         *domain.Reason
	}
	// Open lets the files of the slot become ready (S2, S5). Without a reason it is the
	// sweeper's, and opens a slot whose window has begun. Until moves the end of the window,
	// zero = it stays.
	Open struct {
		Now    domain.Time
		Reason *domain.Reason
		Until  domain.Time
	}
	// Close ends the slot before its window is over (S3, and S4 while it is PENDING). Files
	// have arrived in it.
	Close struct {
		Reason domain.Reason
		Files  int
	}
	// End ends a slot whose window is over, and in which so many files have arrived (S3,
	// S4). A PENDING slot with files is opened and closed, in one write. It is the sweeper's
	// command.
	End struct {
		Now   domain.Time
		Files int
	}
)

func (Add) command() string   { return "add" }
func (Open) command() string  { return "open" }
func (Close) command() string { return "close" }
func (End) command() string   { return "end" }

// Decision is what a command about a slot leads to: the events, in order, and the table row
// of each. They are written together or not at all.
type Decision struct {
	Rows   []string
	Events []domain.Event
}

// Decide returns the decision that cmd leads to in state s. If the rules do not allow it
// the error is a *[domain.Refused].
func Decide(s Slot, cmd Command) (Decision, error) {
	d := &decider{s: s, name: cmd.command()}
	if err := d.decide(cmd); err != nil {
		return Decision{}, err
	}
	return d.dec, nil
}

// decider collects the steps of one decision; s is the slot after those that it has.
type decider struct {
	s    Slot
	name string
	dec  Decision
}

func (d *decider) decide(cmd Command) error {
	switch c := cmd.(type) {
	case Add:
		return d.add(c)
	case Open:
		return d.open(c)
	case Close:
		to := domain.SlotDone
		if d.s.State == domain.SlotPending {
			to = domain.SlotMissed
		}
		if c.Reason.Message == "" {
			return d.refuse(domain.CodeReasonMissing, "it needs a reason")
		}
		if Ended(d.s.State) {
			return d.refuse(domain.CodeIllegal, "")
		}
		d.s.Files = c.Files
		return d.step(to, &c.Reason)
	case End:
		return d.end(c)
	default:
		return d.refuse(domain.CodeUnknownCommand, "the command is unknown")
	}
}

func (d *decider) add(c Add) error {
	if d.s.State != domain.SlotNone {
		return d.refuse(CodeExists, "it exists, and is "+string(d.s.State))
	}
	if err := errors.Join(CheckDataset(c.Dataset), setting.CheckGroup(c.Group)); err != nil {
		return d.refuse(CodeBad, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if id := NewID(c.Dataset, c.Group); id != d.s.ID {
		return d.refuse(CodeBad, "its dataset and group have the id "+string(id))
	}
	if c.Opens.IsZero() || !c.Closes.After(c.Opens.Time) {
		return d.refuse(CodeBad, "its window needs a begin and a later end")
	}
	d.s.Dataset, d.s.Group, d.s.Opens, d.s.Closes = c.Dataset, c.Group, c.Opens, c.Closes
	return d.step(domain.SlotPending, c.Reason)
}

func (d *decider) open(c Open) error {
	if !c.Until.IsZero() {
		d.s.Closes = c.Until
	}
	switch {
	case d.s.State != domain.SlotPending && !Ended(d.s.State):
		return d.refuse(domain.CodeIllegal, "")
	case c.Now.IsZero():
		return d.refuse(domain.CodeTimeUnknown, "the log's time is not known")
	case c.Reason == nil && d.s.State != domain.SlotPending, c.Reason != nil && c.Reason.Message == "":
		return d.refuse(domain.CodeReasonMissing, "it needs a reason")
	case c.Reason == nil && c.Now.Before(d.s.Opens.Time):
		return d.refuse(CodeNotBegun, "its window begins at "+d.s.Opens.String())
	case !c.Now.Before(d.s.Closes.Time):
		return d.refuse(CodeOver, "its window is over since "+d.s.Closes.String()+"; give it an end that is to come")
	case !d.s.Closes.After(d.s.Opens.Time):
		return d.refuse(CodeBad, "its window begins at "+d.s.Opens.String()+" and needs a later end")
	}
	d.s.Files = 0
	return d.step(domain.SlotActive, c.Reason)
}

func (d *decider) end(c End) error {
	switch {
	case d.s.State != domain.SlotPending && d.s.State != domain.SlotActive:
		return d.refuse(domain.CodeIllegal, "")
	case c.Now.IsZero():
		return d.refuse(domain.CodeTimeUnknown, "the log's time is not known")
	case c.Now.Before(d.s.Closes.Time):
		return d.refuse(CodeNotOver, "its window ends at "+d.s.Closes.String())
	case c.Files == 0:
		return d.step(domain.SlotMissed, &domain.Reason{Class: domain.ClassTimeout, Code: CodeMissed, Message: "its window ended and no file had arrived"})
	}
	if d.s.State == domain.SlotPending {
		if err := d.step(domain.SlotActive, nil); err != nil {
			return err
		}
	}
	d.s.Files = c.Files
	return d.step(domain.SlotDone, nil)
}

// step takes the row that leads to a state.
func (d *decider) step(to domain.SlotState, why *domain.Reason) error {
	t, ok := row(d.s.State, to)
	if !ok {
		return d.refuse(domain.CodeIllegal, "")
	}
	d.s.State, d.s.Version = to, d.s.Version+1
	d.dec.Rows = append(d.dec.Rows, t.Row)
	d.dec.Events = append(d.dec.Events, domain.Event{Type: t.Event, Aggregate: d.s.ID.Aggregate(), Version: d.s.Version,
		Data: &domain.SlotMove{From: t.From, To: to, Reason: why, Dataset: d.s.Dataset, Group: d.s.Group, Opens: d.s.Opens, Closes: d.s.Closes, Files: d.s.Files}})
	return nil
}

// row finds the row that leads from one state to another.
func row(from, to domain.SlotState) (Transition, bool) {
	i := slices.IndexFunc(Transitions, func(t Transition) bool { return t.From == from && t.To == to })
	if i < 0 {
		return Transition{}, false
	}
	return Transitions[i], true
}

func (d *decider) refuse(code domain.Code, why string) error {
	r := &domain.Refused{Aggregate: d.s.ID.Aggregate(), Command: d.name, State: string(d.s.State), Code: code}
	if why != "" {
		r.Message = r.Aggregate.String() + " cannot " + d.name + ": " + why
	}
	if code == domain.CodeIllegal {
		for _, t := range Transitions {
			if t.From == d.s.State {
				r.Possible = append(r.Possible, string(t.To))
			}
		}
	}
	return r
}

// Evolve applies one event to a slot. It refuses (*[domain.Unexpected]) one that is not its
// next, does not start from its state, or makes a transition that the table does not have.
func Evolve(s Slot, r domain.Recorded) (Slot, error) {
	m, ok := r.Data.(*domain.SlotMove)
	if !ok {
		m = &domain.SlotMove{}
	}
	t, legal := row(m.From, m.To)
	if !ok || !legal || t.Event != r.Type || m.From != s.State || r.Aggregate.Kind != domain.KindSlot || s.ID != "" && r.Aggregate.ID != string(s.ID) || r.Version != s.Version+1 {
		return s, &domain.Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: s.Version, From: string(m.From), State: string(s.State)}
	}
	return Slot{ID: ID(r.Aggregate.ID), Version: r.Version, State: m.To, Dataset: m.Dataset, Group: m.Group, Opens: m.Opens, Closes: m.Closes,
		Files: m.Files, Reason: m.Reason, Since: domain.At(r.Stored), Modified: r.Time, CommandID: r.CommandID}, nil
}

// Bounds of the names.
const (
	maxDataset = 128 // bytes
	maxGroup   = 200 // bytes
)

// Check refuses names that a dataset and the group of a slot cannot have. A slot that is made
// must have a group that files can have, see [setting.CheckGroup].
func Check(dataset, group string) error {
	return errors.Join(CheckDataset(dataset), checkName("the group", group, maxGroup))
}

// CheckDataset refuses a name that a dataset cannot have.
func CheckDataset(name string) error { return checkName("the dataset", name, maxDataset) }

func checkName(what, name string, most int) error {
	if name == "" || len(name) > most || name == "." || name == ".." {
		return fmt.Errorf("%s has a name of 1 to %d bytes", what, most)
	}
	if err := text.Check(name); err != nil {
		return fmt.Errorf("the name of %s %w", what, err)
	}
	return nil
}
