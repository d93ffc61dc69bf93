// Package event is the form in which events of the history are shown.
package event

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Event is one event of the history as it is shown.
type Event struct {
	ID      string           `json:"id"` // KIND/ID/VERSION
	Seq     uint64           `json:"seq"`
	Time    domain.Time      `json:"time"`
	Stored  time.Time        `json:"stored"`
	Type    domain.EventType `json:"type"`
	Subject string           `json:"subject"` // such as job/jid0000000042
	Version int64            `json:"version"`
	Batch   domain.BatchID   `json:"batch,omitempty"`
	Actor   domain.Actor     `json:"actor"`
	Command string           `json:"command"`
	Cause   string           `json:"causationid,omitempty"` // id of the event that its writer reacted to
	Trace   string           `json:"traceparent,omitempty"` // W3C trace context
	Zxid    int64            `json:"zxid"`                  // ZooKeeper's commit number
	Epoch   int64            `json:"epoch"`                 // counts how often the tree was restored
	Source  string           `json:"source"`                // installation that wrote it: /accession/NAME
	Schema  string           `json:"dataschema"`            // of Data, as it is shown here
	Data    domain.EventData `json:"data"`
}

// Of returns an event as it is shown.
func Of(r domain.Recorded) Event {
	return Event{ID: r.ID(), Cause: r.CausationID, Trace: r.TraceParent, Zxid: r.Zxid, Epoch: r.Epoch, Source: r.Source, Schema: codec.NewestSchemaID(r.Type),
		Seq: r.Seq, Time: r.Time, Stored: r.Stored.UTC(), Type: r.Type, Subject: r.Aggregate.String(), Version: r.Version,
		Batch: r.BatchID, Actor: r.Actor, Command: r.CommandID, Data: shown(r.Data)}
}

// shown returns the data of an event without the place of the working space.
func shown(data domain.EventData) domain.EventData {
	d, ok := data.(*domain.JobCreated)
	if !ok {
		return data
	}
	told := *d
	told.Configuration.WorkingDir = WorkingDir(d.Configuration.BatchID, d.Configuration.WorkingDir)
	return &told
}

// WorkingDir returns the name of the working directory of a job below the working space, "" if
// it lies elsewhere.
func WorkingDir(batch domain.BatchID, dir string) string {
	if i := strings.LastIndex("/"+dir, "/"+string(batch)+"/"); i >= 0 && batch != "" {
		return dir[i:]
	}
	return ""
}

// UnmarshalJSON reads an event as it is shown.
func (e *Event) UnmarshalJSON(data []byte) error {
	type fields Event // which has no methods
	shown := struct {
		*fields
		Data json.RawMessage `json:"data"`
	}{fields: (*fields)(e)}
	if err := json.Unmarshal(data, &shown); err != nil {
		return err
	}
	r, err := e.Recorded()
	if err == nil {
		e.Data, err = codec.DecodeData(r.Event, shown.Data)
	}
	return err
}

// Recorded returns the event as the log has it.
func (e Event) Recorded() (r domain.Recorded, err error) {
	of, err := domain.ParseAggregate(e.Subject)
	return domain.Recorded{Event: domain.Event{Type: e.Type, Aggregate: of, Version: e.Version, Data: e.Data}, Time: e.Time, BatchID: e.Batch, Actor: e.Actor,
		CommandID: e.Command, CausationID: e.Cause, TraceParent: e.Trace, Zxid: e.Zxid, Epoch: e.Epoch, Seq: e.Seq, Stored: e.Stored, Source: e.Source}, err
}

// CodeRequested is the code of a reason that is given with a request.
const CodeRequested domain.Code = "requested"

// Move returns the states before and after the event, and the reason.
func (e Event) Move() (from, to string, why *domain.Reason) {
	if m, ok := domain.MoveOfBatch(e.Data); ok {
		return string(m.From), string(m.To), m.Reason
	}
	if m, ok := domain.MoveOfJob(e.Data); ok {
		return string(m.From), string(m.To), m.Reason
	}
	if m, ok := domain.MoveOfFile(e.Data); ok {
		return string(m.From), string(m.To), m.Reason
	}
	if m, ok := domain.MoveOfQuery(e.Data); ok {
		return string(m.From), string(m.To), m.Reason
	}
	switch d := e.Data.(type) {
	case *domain.EntryMove:
		return string(d.From), string(d.To), d.Reason
	case *domain.SlotMove:
		return string(d.From), string(d.To), d.Reason
	case *domain.SettingChanged:
		if d.Why != "" {
			why = &domain.Reason{Class: domain.ClassWait, Code: CodeRequested, Message: d.Why}
		}
		return d.From, d.To, why
	}
	return "", "", nil
}
