package event

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
)

func TestEventsAreShownWhole(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	text, err := json.Marshal(Of(domain.Recorded{
		Event: domain.Event{Type: domain.EventSettingChanged, Aggregate: domain.Aggregate{Kind: domain.KindSetting, ID: "pause.job-pending"}, Version: 3,
			Data: &domain.SettingChanged{}},
		Time: domain.At(at), BatchID: "bid0000000001", Actor: "user/maria", CommandID: "c1", CausationID: "job/jid0000000001/2", TraceParent: "00-1-2-01",
		Zxid: 41, Epoch: 2, Source: "/accession/test", Seq: 17, Stored: at,
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "data")
	want := map[string]any{"id": "setting/pause.job-pending/3", "seq": 17.0, "time": got["time"], "stored": "2024-05-06T07:08:09Z", "type": "setting.changed",
		"subject": "setting/pause.job-pending", "version": 3.0, "batch": "bid0000000001", "actor": "user/maria", "command": "c1",
		"causationid": "job/jid0000000001/2", "traceparent": "00-1-2-01", "zxid": 41.0, "epoch": 2.0, "source": "/accession/test",
		"dataschema": "urn:accession:event:setting.changed:v1"}
	if diff := diff.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestShownEventsAreRead: an event of every type is read as it was shown.
func TestShownEventsAreRead(t *testing.T) {
	t.Parallel()
	for i, def := range domain.Registry {
		of := map[domain.Kind]string{domain.KindBatch: "bid0000000001", domain.KindJob: "jid0000000001", domain.KindFile: strings.Repeat("ab", 32), domain.KindQuery: "qid0000000001"}[def.Kind]
		want := domain.Recorded{Event: domain.Event{Type: def.Type, Aggregate: domain.Aggregate{Kind: def.Kind, ID: cmp.Or(of, "pause.job-pending")}, Version: int64(i + 1), Data: def.New()},
			Time: domain.At(time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)), BatchID: "bid0000000001", Actor: "user/maria", CommandID: "c1", Zxid: 41, Epoch: 2, Source: "/accession/test", Seq: 17,
			Stored: time.Date(2024, 5, 6, 7, 8, 10, 0, time.UTC)}
		text, err := json.Marshal(Of(want))
		if err != nil {
			t.Fatal(err)
		}
		var e Event
		if err := json.Unmarshal(text, &e); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := e.Recorded()
		if diff := diff.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", def.Type, err, diff)
		}
	}
	for _, text := range []string{`{"type":"job.sung","subject":"job/jid0000000001","data":{}}`, `{"type":"job.failed","subject":"job","data":{}}`, `{"type":"job.failed","subject":"job/jid0000000001","data":7}`} {
		if err := json.Unmarshal([]byte(text), &Event{}); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// TestReasonsOfEvents: the reason that an event of any type has is that which is shown of it. What a
// repair corrects has none.
func TestReasonsOfEvents(t *testing.T) {
	t.Parallel()
	const from, to, why = "as it was", "as it is", "the shelf is being moved"
	for _, def := range domain.Registry {
		data := def.New()
		fields := map[string]any{"from": from, "to": to, "reason": map[string]any{"class": "wait", "code": "requested", "message": why}}
		if def.Type == domain.EventSettingChanged {
			fields = map[string]any{"from": from, "to": to, "why": why}
		}
		text, err := json.Marshal(fields)
		if err == nil {
			err = json.Unmarshal(text, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		gotFrom, gotTo, got := Event{Type: def.Type, Data: data}.Move()
		if def.Type == domain.EventSettingRepaired || def.Type == domain.EventSettingRestored {
			if got != nil {
				t.Errorf("%s: %v", def.Type, got)
			}
			continue
		}
		if gotFrom != from || gotTo != to || got == nil || *got != (domain.Reason{Class: domain.ClassWait, Code: CodeRequested, Message: why}) {
			t.Errorf("%s: from %q to %q because of %v", def.Type, gotFrom, gotTo, got)
		}
	}
	if _, _, got := (Event{Data: &domain.SettingChanged{From: from, To: to}}).Move(); got != nil {
		t.Errorf("without a reason: %v", got)
	}
}
