package domain

import (
	"reflect"
	"slices"
	"strings"
)

// DecideHold decides to set (h not nil) or release (h nil) a hold or pause.
func DecideHold(s Setting, h *Hold, why string) (Decision, error) {
	if err := CheckHoldName(s.Kind, s.Name); err != nil {
		return s.refuse(CodeBadName, err.Error())
	}
	if (s.Hold == nil) == (h == nil) {
		state := "on hold"
		if s.Kind == HoldQueue {
			state = "paused"
		}
		if h == nil {
			state = "not " + state
		} else {
			state = "already " + state
		}
		return Decision{}, &Refused{Aggregate: s.Aggregate(), State: state, Code: CodeNoChange, Message: string(s.Kind) + " " + s.Name + " is " + state}
	}
	to := s
	to.Hold = h
	return changeSetting(s, to, why), nil
}

// DecideTimeouts decides to set the timeouts that t names; the others stay as they are.
// The decision needs a reason, because it changes when running attempts end.
func DecideTimeouts(s Setting, t Timeouts, why string) (Decision, error) {
	if err := CheckHoldName(s.Kind, s.Name); err != nil {
		return s.refuse(CodeBadName, err.Error())
	}
	if err := t.Check(); err != nil {
		return s.refuse(CodeBadLimits, oneLine(err))
	}
	if strings.TrimSpace(why) == "" {
		return s.refuse(CodeReasonMissing, "a change of timeouts needs a reason")
	}
	t = t.Over(s.Timeouts)
	if s.Timeouts == nil && t == (Timeouts{}) || s.Timeouts != nil && t == *s.Timeouts {
		return s.refuse(CodeNoChange, "the timeouts are set so already")
	}
	to := s
	to.Timeouts = &t
	return changeSetting(s, to, why), nil
}

// DecideSetting decides to give a setting of a deposit queue, a profile, a dataset or a
// discovery another value; without anything that is set it is removed. The decision needs a
// reason, because it changes who is served, or what deposits may do.
func DecideSetting(s Setting, to SettingValue, why string) (Decision, error) {
	if !s.Kind.OfQueue() && !s.Kind.InDirectory() {
		return s.refuse(CodeBadName, string(s.Kind)+" is not a kind of setting that is set so")
	}
	if err := CheckHoldName(s.Kind, s.Name); err != nil {
		return s.refuse(CodeBadName, oneLine(err))
	}
	to, err := NormaliseSetting(s.Kind, s.Name, to)
	if err != nil {
		return s.refuse(CodeBadLimits, oneLine(err))
	}
	if strings.TrimSpace(why) == "" {
		return s.refuse(CodeReasonMissing, "a change of a "+string(s.Kind)+" needs a reason")
	}
	if reflect.DeepEqual(to, s.SettingValue) {
		how := " is set so already"
		if s.Value() == nil {
			how = " is not set"
		}
		return s.refuse(CodeNoChange, string(s.Kind)+" "+s.Name+how)
	}
	after := s
	after.SettingValue = to
	return changeSetting(s, after, why), nil
}

// refuse returns the answer to a change that the rules do not allow.
func (s Setting) refuse(code Code, message string) (Decision, error) {
	return Decision{}, &Refused{Aggregate: s.Aggregate(), State: s.Status(), Code: code, Message: message}
}

// changeSetting is the event that leads from one value of a setting to another.
func changeSetting(from, to Setting, why string) Decision {
	data := &SettingChanged{Kind: from.Kind, Name: from.Name, From: from.Status(), To: to.Status(), Hold: to.Hold, Why: why,
		Previous: from.Value(), Value: to.Value()}
	return singleEvent(from.Aggregate(), from.Version+1, EventSettingChanged, data, Require{})
}

// DecideRepair decides the event that says that a setting was repaired.
func DecideRepair(s Setting, repaired []Repaired) Decision {
	list, more := shorten(repaired)
	return singleEvent(s.Aggregate(), s.Version+1, EventSettingRepaired,
		&SettingRepaired{Kind: s.Kind, Name: s.Name, Repaired: list, More: more}, Require{})
}

// DecideRestored decides the event that keeps a restore in the history of [Audit].
func DecideRestored(s Setting, what string, epoch, events int64) Decision {
	return singleEvent(s.Aggregate(), s.Version+1, EventSettingRestored,
		&SettingRestored{Kind: s.Kind, Name: s.Name, What: what, Epoch: epoch, Events: events}, Require{})
}

// shorten keeps the list within what an event may hold.
func shorten(all []Repaired) (list []Repaired, more int) {
	list = slices.Clone(all[:min(len(all), maxRepaired)])
	for i := range list {
		if text := []rune(list[i].Found); len(text) > maxFound {
			list[i].Found = string(text[:maxFound-1]) + "…"
		}
	}
	return list, len(all) - len(list)
}
