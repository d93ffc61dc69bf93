package domain

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/instant"
)

// Time is an instant in UTC with millisecond resolution.
type Time = instant.Time

// At rounds t down to the resolution of [Time].
func At(t time.Time) Time { return instant.At(t) }

// EventType names what happened, such as job.accepted.
type EventType string

// Last reports whether an event of the type is normally the last of its batch or job.
func (t EventType) Last() bool {
	return t == EventJobCleaned || t == EventJobDeleted || t == EventBatchDeleted || t == EventBatchCleaned
}

// EventDef is one row of the registry of event types.
type EventDef struct {
	Type EventType
	Kind Kind
	// New returns an empty value of the type's data, to decode into.
	New func() EventData
	Doc string
}

// Registry holds every event type in its newest version (v1), in the order of
// the documentation.
var Registry = slices.Concat(batchRegistry, jobRegistry, settingRegistry, fileRegistry, maintenanceRegistry, depositRegistry, queryRegistry, slotRegistry, entryRegistry)

var byType = func() map[EventType]EventDef {
	m := make(map[EventType]EventDef, len(Registry))
	for _, d := range Registry {
		m[d.Type] = d
	}
	return m
}()

// Lookup returns the row of an event type, and reports whether the registry has it.
func Lookup(t EventType) (EventDef, bool) { d, ok := byType[t]; return d, ok }

// EventData is the data of one event: a pointer to one of the structs in the files event_*.go,
// query.go, slot.go and entry.go.
type EventData interface{ eventData() }

func data[T any, P interface {
	*T
	EventData
}]() EventData {
	return P(new(T))
}

// Event is one thing that happened to an aggregate; it is never changed.
type Event struct {
	Type      EventType
	Aggregate Aggregate
	Version   int64 // number among its aggregate's events, from 1
	Data      EventData
}

// Recorded is an event and where it was written: by whom and when, in which
// commit, and its sequence in the log.
type Recorded struct {
	Event
	Time        Time    // the writer's clock; informative
	BatchID     BatchID // the batch it belongs to, "" for a setting
	Actor       Actor
	CommandID   string // the command that caused it, the same on every retry
	CausationID string // id of the event that its writer reacted to, "" = none
	TraceParent string // W3C trace context, "" = none

	Zxid  int64 // ZooKeeper's commit number: the order over all aggregates
	Epoch int64 // counts how often the tree was restored, from 1

	Seq    uint64    // sequence in the log, 0 = not there yet
	Stored time.Time // when the log took it
	Source string    // installation that wrote it, as the log has it: /accession/NAME
}

// ID returns the event's id: KIND/ID/VERSION, known before it is written and equal on
// every retry.
func (e Event) ID() string { return e.Aggregate.String() + "/" + strconv.FormatInt(e.Version, 10) }

// moveOf returns the part M that all events of a kind have.
func moveOf[M any](d EventData) (M, bool) {
	if has, ok := d.(interface{ move() *M }); ok {
		return *has.move(), true
	}
	return *new(M), false
}

// TraceID returns the trace id of a W3C traceparent, "" = there is none in it.
func TraceID(parent string) string {
	if parts := strings.Split(parent, "-"); len(parts) > 3 && len(parts[1]) == 32 {
		return parts[1]
	}
	return ""
}
