package app

import (
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Event is one event of the history as it is shown.
type Event struct {
	Seq     uint64           `json:"seq"`
	Time    domain.Time      `json:"time"`
	Stored  time.Time        `json:"stored"`
	Type    domain.EventType `json:"type"`
	Subject string           `json:"subject"` // such as job/jid0000000042
	Version int64            `json:"version"`
	Batch   domain.BatchID   `json:"batch,omitempty"`
	Actor   domain.Actor     `json:"actor"`
	Command string           `json:"command"`
	Data    domain.EventData `json:"data"`
}

func eventOf(r domain.Recorded) Event {
	return Event{Seq: r.Seq, Time: r.Time, Stored: r.Stored.UTC(), Type: r.Type, Subject: r.Aggregate.String(), Version: r.Version,
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
	if s, ok := e.Data.(*domain.SettingChanged); ok {
		return s.From, s.To, nil
	}
	return "", "", nil
}
