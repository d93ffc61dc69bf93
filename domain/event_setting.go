package domain

// EventSettingChanged is the event type of settings; those of their repair are below.
const EventSettingChanged EventType = "setting.changed"

// settingRegistry is the part of [Registry] about settings.
var settingRegistry = []EventDef{
	{EventSettingChanged, KindSetting, data[SettingChanged], "A setting was changed: a hold or a pause was set or released, or another value was set or unset."},
}

// SettingChanged is the data of setting.changed.
type SettingChanged struct {
	Kind SettingKind `json:"kind"`
	Name string      `json:"name"`
	From string      `json:"from"` // open or held; of settings that stop nothing unset or set
	To   string      `json:"to"`
	Hold *Hold       `json:"hold,omitempty"`
	Why  string      `json:"why,omitempty"`
	// Previous and Value are the setting before and after the event, in the form of its
	// kind; left out where it was not set.
	Previous *SettingValue `json:"previous,omitempty"`
	Value    *SettingValue `json:"value,omitempty"`
}

func (*SettingChanged) eventData()  {}
func (*SettingRepaired) eventData() {}
func (*SettingRestored) eventData() {}

// The event types of maintenance: the live state or the log
// was not as the history says, and was repaired.
const (
	EventBatchRepaired   EventType = "batch.repaired"
	EventJobRepaired     EventType = "job.repaired"
	EventSettingRepaired EventType = "setting.repaired"
	EventSettingRestored EventType = "setting.restored"
)

// maintenanceRegistry is the part of [Registry] about maintenance.
var maintenanceRegistry = []EventDef{
	{EventBatchRepaired, KindBatch, data[BatchRepaired], "The nodes of the batch in the live state were repaired."},
	{EventJobRepaired, KindJob, data[JobRepaired], "The nodes of the job in the live state were repaired."},
	{EventSettingRepaired, KindSetting, data[SettingRepaired], "The nodes of the setting, or nodes without an owner, were repaired."},
	{EventSettingRestored, KindSetting, data[SettingRestored], "The live state was restored from the log, or the log from the tables."},
}

// Repaired is one thing that a repair corrected.
type Repaired struct {
	Code  Code   `json:"code"`            // what was wrong
	Where string `json:"where"`           // a node of the live state, or a working directory
	Found string `json:"found,omitempty"` // what was found, truncated
}

// The most that one event lists of a repair; the rest is counted.
const (
	maxRepaired = 50
	maxFound    = 256
)

// BatchRepaired is the data of batch.repaired. The state stays.
type BatchRepaired struct {
	BatchMove
	Repaired []Repaired `json:"mended"`
	More     int        `json:"more,omitempty"` // how many are not listed
}

// JobRepaired is the data of job.repaired. The state stays.
type JobRepaired struct {
	JobMove
	Repaired []Repaired `json:"mended"`
	More     int        `json:"more,omitempty"`
}

// SettingRepaired is the data of setting.repaired. What is set stays.
type SettingRepaired struct {
	Kind     SettingKind `json:"kind"`
	Name     string      `json:"name"`
	Repaired []Repaired  `json:"mended"`
	More     int         `json:"more,omitempty"`
}

// SettingRestored is the data of setting.restored.
type SettingRestored struct {
	Kind SettingKind `json:"kind"`
	Name string      `json:"name"`
	What string      `json:"what" jsonschema:"enum=zookeeper,enum=log"`
	// Epoch is the epoch that begins; Events is the number of events that the state was
	// restored from, or that were restored to the log.
	Epoch  int64 `json:"epoch"`
	Events int64 `json:"events"`
}
