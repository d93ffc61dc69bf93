package domain

import "slices"

// DecideHold decides to set (h not nil) or lift (h nil) a hold or pause.
func DecideHold(s Setting, h *Hold, why string) (Decision, error) {
	if err := CheckHoldName(s.Kind, s.Name); err != nil {
		return Decision{}, &Refused{Aggregate: s.Aggregate(), Code: CodeBadName, Message: err.Error()}
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
		return Decision{}, &Refused{Aggregate: s.Aggregate(), State: state, Code: CodeNoChange,
			Message: string(s.Kind) + " " + s.Name + " is " + state}
	}
	data := &SettingChanged{Kind: s.Kind, Name: s.Name, From: holdState(s.Hold), To: holdState(h), Hold: h, Why: why,
		Previous: s.Value(), Value: valueOf(h)}
	return singleEvent(s.Aggregate(), s.Version+1, EventSettingChanged, data, Require{}), nil
}

func holdState(h *Hold) string {
	if h == nil {
		return "open"
	}
	return "held"
}

// DecideRepair records that a setting was repaired.
func DecideRepair(s Setting, repaired []Repaired) Decision {
	list, more := shorten(repaired)
	return singleEvent(s.Aggregate(), s.Version+1, EventSettingRepaired,
		&SettingRepaired{Kind: s.Kind, Name: s.Name, Repaired: list, More: more}, Require{})
}

// DecideRestored records a restore in the history of [Audit].
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
