package domain

import "errors"

// HoldKind says what a hold stops.
type HoldKind string

// The kinds of hold that stop something: on a collection (its batches and jobs wait in held), on a
// queue (a pause: no claim there, running work ends).
const (
	HoldCollection HoldKind = "collection"
	HoldQueue      HoldKind = "queue"
)

// QueueIngest is the queue whose pause stops every claim.
const QueueIngest = "ingest"

// Hold is a persistent lock that a person set.
type Hold struct {
	By   string `json:"by"`
	When Time   `json:"when"`
	Why  string `json:"why"`
}

// Setting is the state of one setting: today a hold or a pause.
type Setting struct {
	Kind    HoldKind
	Name    string
	Version int64
	Hold    *Hold // nil = lifted
}

// Aggregate names the setting as an aggregate.
func (s Setting) Aggregate() Aggregate { return SettingAggregate(s.Kind, s.Name) }

// SettingAggregate names the setting of a hold, such as setting/collection:maps.
func SettingAggregate(kind HoldKind, name string) Aggregate {
	return Aggregate{Kind: KindSetting, ID: string(kind) + ":" + name}
}

// CheckHoldName refuses names that cannot be a collection's or queue's.
func CheckHoldName(kind HoldKind, name string) error {
	if name == "" || len(name) > 128 || name == "." || name == ".." {
		return errors.New("a hold needs a name of 1 to 128 bytes")
	}
	for _, r := range name {
		if r < 0x21 || r == 0x7f || r == '/' || r == ':' || r > 0x7e {
			return errors.New("the name of a hold may hold printable ASCII without space, slash and colon only")
		}
	}
	if kind == HoldQueue && name != QueueIngest && !JobState(name).Worked() {
		return errors.New("a pause names " + QueueIngest + " or a state that a daemon works in, not " + name)
	}
	return nil
}

// DecideHold sets (h not nil) or lifts (h nil) a hold.
func DecideHold(s Setting, h *Hold, why string) (Decision, error) {
	if err := CheckHoldName(s.Kind, s.Name); err != nil {
		return Decision{}, &Refused{Aggregate: s.Aggregate(), Code: "bad_name", Message: err.Error()}
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
		return Decision{}, &Refused{Aggregate: s.Aggregate(), State: word, Code: "no_change",
			Message: string(s.Kind) + " " + s.Name + " is " + word}
	}
	data := &SettingChanged{Kind: s.Kind, Name: s.Name, From: word(s.Hold), To: word(h), Hold: h, Why: why}
	return Decision{Events: []Event{{Type: EventSettingChanged, Aggregate: s.Aggregate(), Version: s.Version + 1, Data: data}}}, nil
}

func word(h *Hold) string {
	if h == nil {
		return "open"
	}
	return "held"
}

// EvolveSetting applies a setting's event. It refuses (*[Unexpected]) one that is
// not the next or does not start from what the setting is.
func EvolveSetting(s Setting, r Recorded) (Setting, error) {
	switch d := r.Data.(type) {
	case *SettingRepaired:
		return maintained(s, r, d.Kind, d.Name)
	case *SettingRestored:
		return maintained(s, r, d.Kind, d.Name)
	}
	data, ok := r.Data.(*SettingChanged)
	if !ok {
		return s, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: s.Version}
	}
	if !follows(r, KindSetting, "", s.Version) || data.From != word(s.Hold) {
		return s, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: s.Version, From: data.From, State: word(s.Hold)}
	}
	return Setting{Kind: data.Kind, Name: data.Name, Version: r.Version, Hold: data.Hold}, nil
}

// maintained applies an event that leaves what is set as it is.
func maintained(s Setting, r Recorded, kind HoldKind, name string) (Setting, error) {
	if !follows(r, KindSetting, "", s.Version) || s.Version > 0 && (kind != s.Kind || name != s.Name) {
		return s, &Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: s.Version}
	}
	return Setting{Kind: kind, Name: name, Version: r.Version, Hold: s.Hold}, nil
}
