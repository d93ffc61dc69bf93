package domain

import "slices"

// The event types of maintenance: somebody found that the live state or the log
// was not as the history says, and put it right.
const (
	EventBatchRepaired   EventType = "batch.repaired"
	EventJobRepaired     EventType = "job.repaired"
	EventSettingRepaired EventType = "setting.repaired"
	EventSettingRestored EventType = "setting.restored"
)

// mendRegistry is the part of [Registry] about maintenance.
var mendRegistry = []EventDef{
	{EventBatchRepaired, KindBatch, func() EventData { return &BatchRepaired{} }, "What lay wrong about the batch in the live state was put right."},
	{EventJobRepaired, KindJob, func() EventData { return &JobRepaired{} }, "What lay wrong about the job in the live state was put right."},
	{EventSettingRepaired, KindSetting, func() EventData { return &SettingRepaired{} }, "What lay wrong about the setting, or belonged to nothing, was put right."},
	{EventSettingRestored, KindSetting, func() EventData { return &SettingRestored{} }, "The live state was made anew from the log, or the log from the tables."},
}

// Mended is one thing that a repair put right.
type Mended struct {
	Code  Code   `json:"code"`            // what was wrong
	Where string `json:"where"`           // a node of the live state, or a working directory
	Found string `json:"found,omitempty"` // what lay there, cut short
}

// The most that one event tells of a repair; the rest is told by its number.
const (
	maxMended = 50
	maxFound  = 256
)

// BatchRepaired is the data of batch.repaired. The state stays.
type BatchRepaired struct {
	BatchMove
	Mended []Mended `json:"mended"`
	More   int      `json:"more,omitempty"` // how many are not listed
}

// JobRepaired is the data of job.repaired. The state stays.
type JobRepaired struct {
	JobMove
	Mended []Mended `json:"mended"`
	More   int      `json:"more,omitempty"`
}

// SettingRepaired is the data of setting.repaired. What is set stays.
type SettingRepaired struct {
	Kind   HoldKind `json:"kind"`
	Name   string   `json:"name"`
	Mended []Mended `json:"mended"`
	More   int      `json:"more,omitempty"`
}

// SettingRestored is the data of setting.restored.
type SettingRestored struct {
	Kind HoldKind `json:"kind"`
	Name string   `json:"name"`
	What string   `json:"what" jsonschema:"enum=zookeeper,enum=log"`
	// Epoch is the one that begins; Events is how many events it was made from, or
	// were put back.
	Epoch  int64 `json:"epoch"`
	Events int64 `json:"events"`
}

func (*BatchRepaired) eventData()   {}
func (*JobRepaired) eventData()     {}
func (*SettingRepaired) eventData() {}
func (*SettingRestored) eventData() {}

// HoldAudit is the kind of the one setting that stops nothing: its history tells
// of maintenance that belongs to no batch, job or hold.
const HoldAudit HoldKind = "audit"

// AuditMaintenance is its name.
const AuditMaintenance = "maintenance"

// Audit gives the setting that tells of maintenance, at a version.
func Audit(version int64) Setting {
	return Setting{Kind: HoldAudit, Name: AuditMaintenance, Version: version}
}

// What a restore made anew.
const (
	RestoredZooKeeper = "zookeeper"
	RestoredLog       = "log"
)

// RepairBatch and RepairJob put right what lies wrong about a batch or a job.
type (
	// RepairBatch draws a batch's nodes again.
	RepairBatch struct{ Mended []Mended }
	// RepairJob draws a job's nodes again.
	RepairJob struct{ Mended []Mended }
)

func (RepairBatch) batchCommand() string { return "repair" }
func (RepairJob) jobCommand() string     { return "repair" }

// DecideRepair tells that a setting was put right.
func DecideRepair(s Setting, mended []Mended) Decision {
	list, more := shorten(mended)
	return settingDecision(s, EventSettingRepaired, &SettingRepaired{Kind: s.Kind, Name: s.Name, Mended: list, More: more})
}

// DecideRestored tells, in the history of [Audit], of a restore.
func DecideRestored(s Setting, what string, epoch, events int64) Decision {
	return settingDecision(s, EventSettingRestored, &SettingRestored{Kind: s.Kind, Name: s.Name, What: what, Epoch: epoch, Events: events})
}

func settingDecision(s Setting, t EventType, data EventData) Decision {
	return Decision{Events: []Event{{Type: t, Aggregate: s.Aggregate(), Version: s.Version + 1, Data: data}}}
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
