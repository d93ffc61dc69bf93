package app

import (
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
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

func eventOf(r domain.Recorded) Event {
	return Event{ID: r.ID(), Cause: r.CausationID, Trace: r.TraceParent, Zxid: r.Zxid, Epoch: r.Epoch, Source: r.Source, Schema: eventstore.NewestSchemaID(r.Type),
		Seq: r.Seq, Time: r.Time, Stored: r.Stored.UTC(), Type: r.Type, Subject: r.Aggregate.String(), Version: r.Version,
		Batch: r.BatchID, Actor: r.Actor, Command: r.CommandID, Data: r.Data}
}

// Move gives the states before and after the event, and why.
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
	if s, ok := e.Data.(*domain.SettingChanged); ok {
		return s.From, s.To, nil
	}
	return "", "", nil
}
