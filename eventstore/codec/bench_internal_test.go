package codec

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// BenchmarkByHand compares what this package writes and reads by hand with encoding/json, for
// the event of one transition: its part of an outbox node, its message of the log, and its
// data.
func BenchmarkByHand(b *testing.B) {
	r := domain.Recorded{
		Event: domain.Event{Type: domain.EventJobRecorded, Aggregate: domain.NewJobID(42).Aggregate(), Version: 6, Data: &domain.JobMoved{
			JobMove: domain.JobMove{From: domain.JobRecording, To: domain.JobNotify, Collection: "maps", Profile: "maps"}}},
		Time: domain.At(time.Unix(1_800_000_000, 0)), BatchID: domain.NewBatchID(7), Actor: domain.DaemonActor(domain.DaemonJobRecording),
		CommandID: "018e3f5c-2a00-7000-8000-0000000000aa", TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Zxid: 4294967297, Epoch: 1,
	}
	r, data, err := Sanitise(r)
	if err != nil {
		b.Fatal(err)
	}
	out := outboxEvent{Type: r.Type, Schema: 1, Aggregate: r.Aggregate.String(), Version: r.Version, Time: r.Time, BatchID: r.BatchID,
		Actor: r.Actor, CommandID: r.CommandID, TraceParent: r.TraceParent, Data: data}
	message, err := EncodeSanitised(r, data, "bench")
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"outbox/hand", func() error { buf = out.append(buf[:0]); return nil }},
		{"outbox/json", func() error { _, err := json.Marshal(out); return err }},
		{"message/hand", func() error { buf = body(r, data); return nil }},
		{"message/json", func() error {
			_, err := json.Marshal(struct {
				attributes
				Data json.RawMessage `json:"data"`
			}{attributes{SpecVersion: "1.0", ID: r.ID(), Type: typePrefix + string(r.Type) + ".v1", Source: r.Source, Subject: r.Aggregate.String(),
				Time: r.Time.String(), DataSchema: SchemaID(r.Type, 1), Version: "6", Zxid: number(r.Zxid), Epoch: number(r.Epoch),
				BatchID: string(r.BatchID), Actor: string(r.Actor), CommandID: r.CommandID, TraceParent: r.TraceParent}, data})
			return err
		}},
		{"attributes/hand", func() error {
			if _, _, ok := quickly(message); !ok {
				b.Error("the message is not as this package writes it")
			}
			return nil
		}},
		{"attributes/json", func() error { _, _, err := fromBody(message.Data); return err }},
		{"data/hand", func() error {
			if !parse(data, new(domain.JobMoved)) {
				b.Error("the data is not as this package writes it")
			}
			return nil
		}},
		{"data/json", func() error { return json.Unmarshal(data, new(domain.JobMoved)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
