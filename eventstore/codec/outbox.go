package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/domain"
)

// outboxEvent is an event inside a node of the outbox: short names, for the
// nodes lie in ZooKeeper's memory.
type outboxEvent struct {
	Type        domain.EventType `json:"t"`
	Schema      int              `json:"s"` // version of the type
	Aggregate   string           `json:"a"`
	Version     int64            `json:"v"`
	Time        domain.Time      `json:"at"`
	BatchID     domain.BatchID   `json:"b,omitempty"`
	Actor       domain.Actor     `json:"by,omitempty"`
	CommandID   string           `json:"c,omitempty"`
	CausationID string           `json:"x,omitempty"`
	TraceParent string           `json:"tp,omitempty"`
	Data        json.RawMessage  `json:"d"`
}

// MarshalOutbox returns the data of an outbox node: the events without Zxid and
// Epoch, which are known only once the node exists. Text is cleaned and the size
// limited as by [Encode].
func MarshalOutbox(events []domain.Recorded) ([]byte, error) {
	out := make([]outboxEvent, len(events))
	for i, r := range events {
		r, data, err := prepare(r)
		if err != nil {
			return nil, err
		}
		out[i] = outboxEvent{Type: r.Type, Schema: newestVersion(r.Type), Aggregate: r.Aggregate.String(), Version: r.Version,
			Time: r.Time, BatchID: r.BatchID, Actor: r.Actor, CommandID: r.CommandID, CausationID: r.CausationID,
			TraceParent: r.TraceParent, Data: data}
	}
	return marshal(out)
}

// JoinOutbox puts what several calls of [MarshalOutbox] gave into one node's data.
func JoinOutbox(parts [][]byte) []byte {
	if len(parts) == 1 {
		return parts[0]
	}
	var list [][]byte
	for _, p := range parts {
		if inner := p[1 : len(p)-1]; len(inner) > 0 {
			list = append(list, inner)
		}
	}
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'})
}

// UnmarshalOutbox is the inverse of [MarshalOutbox]; older versions of events are
// brought up to the newest. Its error is [ErrBroken].
func UnmarshalOutbox(data []byte) ([]domain.Recorded, error) {
	var in []outboxEvent
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("outbox node: %w: %w", err, ErrBroken)
	}
	events := make([]domain.Recorded, len(in))
	for i, o := range in {
		a, err := domain.ParseAggregate(o.Aggregate)
		if err != nil {
			return nil, fmt.Errorf("outbox node, event %d: %w: %w", i, err, ErrBroken)
		}
		r := domain.Recorded{Event: domain.Event{Type: o.Type, Aggregate: a, Version: o.Version}, Time: o.Time,
			BatchID: o.BatchID, Actor: o.Actor, CommandID: o.CommandID, CausationID: o.CausationID, TraceParent: o.TraceParent}
		if r.Data, err = decodeData(r.Event, o.Schema, o.Data); err != nil {
			return nil, fmt.Errorf("outbox node, event %s: %w: %w", r.ID(), err, ErrBroken)
		}
		events[i] = r
	}
	return events, nil
}
