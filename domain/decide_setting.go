package domain

import "slices"

// DecideHold sets (h not nil) or lifts (h nil) a hold.
func DecideHold(s Setting, h *Hold, why string) (Decision, error) {
	if err := CheckHoldName(s.Kind, s.Name); err != nil {
		return Decision{}, &Refused{Aggregate: s.Aggregate(), Code: CodeBadName, Message: err.Error()}
	}
	if (s.Hold == nil) == (h == nil) {
		word := "on hold"
		if s.Kind == HoldQueue {
			word = "paused"
		}
		if h == nil {
			word = "not " + word
		} else {
			word = "already " + word
		}
		return Decision{}, &Refused{Aggregate: s.Aggregate(), State: word, Code: CodeNoChange,
			Message: string(s.Kind) + " " + s.Name + " is " + word}
	}
	data := &SettingChanged{Kind: s.Kind, Name: s.Name, From: word(s.Hold), To: word(h), Hold: h, Why: why}
	return one(s.Aggregate(), s.Version+1, EventSettingChanged, data, Require{}), nil
}

func word(h *Hold) string {
	if h == nil {
		return "open"
	}
	return "held"
}

// DecideRepair records that a setting was repaired.
func DecideRepair(s Setting, mended []Mended) Decision {
	list, more := shorten(mended)
	return one(s.Aggregate(), s.Version+1, EventSettingRepaired,
		&SettingRepaired{Kind: s.Kind, Name: s.Name, Mended: list, More: more}, Require{})
}

// DecideRestored records a restore in the history of [Audit].
func DecideRestored(s Setting, what string, epoch, events int64) Decision {
	return one(s.Aggregate(), s.Version+1, EventSettingRestored,
		&SettingRestored{Kind: s.Kind, Name: s.Name, What: what, Epoch: epoch, Events: events}, Require{})
}

// shorten keeps the list within what an event may hold.
func shorten(all []Mended) (list []Mended, more int) {
	list = slices.Clone(all[:min(len(all), maxMended)])
	for i := range list {
		if text := []rune(list[i].Found); len(text) > maxFound {
			list[i].Found = string(text[:maxFound-1]) + "…"
		}
	}
	return list, len(all) - len(list)
}
