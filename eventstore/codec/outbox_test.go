package codec

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// TestOutboxBytes: what is written by hand is what encoding/json writes.
func TestOutboxBytes(t *testing.T) {
	t.Parallel()
	moved := func(actor domain.Actor, command string, at domain.Time, why *domain.Reason) domain.Recorded {
		return domain.Recorded{Event: domain.Event{Type: domain.EventJobAccepted, Aggregate: domain.NewJobID(7).Aggregate(), Version: 3,
			Data: &domain.JobAccepted{JobMove: domain.JobMove{From: domain.JobPending, To: domain.JobEstimating, Priority: 5, Reason: why}}},
			Actor: actor, CommandID: command, Time: at, BatchID: domain.NewBatchID(2)}
	}
	at := domain.At(time.UnixMilli(1_700_000_000_120))
	full := moved("ana", "c", at, nil)
	full.CausationID, full.TraceParent = "job/jid0000000001/1", "00-4bf92f-00"
	for name, events := range map[string][]domain.Recorded{
		"none":        {},
		"plain":       {full, moved("", "", domain.Time{}, nil)},
		"a reason":    {full, moved("ana", "c", at, &domain.Reason{Class: domain.ClassWait, Code: "x", Message: `<"wait">`})},
		"fancy texts": {full, moved("Zoë <z@example.org>", `"`, at, nil)},
		"not a job":   {{Event: domain.Event{Type: domain.EventBatchHeld, Aggregate: domain.NewBatchID(2).Aggregate(), Version: 1, Data: &domain.BatchMoved{}}}},
	} {
		got, err := MarshalOutbox(events)
		if err != nil {
			t.Fatal(err)
		}
		var back []outboxEvent
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v: %s", name, err, got)
		}
		want, err := marshal(back)
		if err != nil || string(got) != string(want) || len(back) != len(events) {
			t.Errorf("%s (%v):\ngot  %s\nwant %s", name, err, got, want)
		}
	}
}
