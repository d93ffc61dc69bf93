package fold

import (
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// addHistory adds the event's row, with the data as in the log.
func (f *Fold) addHistory(r domain.Recorded) error {
	data, err := json.Marshal(r.Data)
	if err != nil {
		return fmt.Errorf("encode its data: %w", err)
	}
	f.events = append(f.events, pgdb.AccessionEvent{
		Epoch: r.Epoch, Seq: int64(r.Seq), ID: r.ID(), Type: string(r.Type),
		Kind: string(r.Aggregate.Kind), AggregateID: r.Aggregate.ID, Version: r.Version,
		BatchID: string(r.BatchID), Actor: string(r.Actor), CommandID: r.CommandID,
		CausationID: r.CausationID, TraceParent: r.TraceParent, Zxid: r.Zxid,
		Time: r.Time.Time, Stored: r.Stored, Data: data,
	})
	return nil
}

// EventError names the event that could not be applied.
type EventError struct {
	Seq  uint64
	ID   string
	Type domain.EventType
	Err  error
}

// Error implements error.
func (e *EventError) Error() string {
	return fmt.Sprintf("project event %d of the log (%s, %s): %v", e.Seq, e.ID, e.Type, e.Err)
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// NewEventError names the event of an error.
func NewEventError(r domain.Recorded, err error) *EventError {
	return &EventError{Seq: r.Seq, ID: r.ID(), Type: r.Type, Err: err}
}

func eventError(r domain.Recorded, err error) error {
	if err == nil {
		return nil
	}
	return NewEventError(r, err)
}
