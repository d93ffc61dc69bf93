package app

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
)

func TestEventsAreShownWhole(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	text, err := json.Marshal(eventOf(domain.Recorded{
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
