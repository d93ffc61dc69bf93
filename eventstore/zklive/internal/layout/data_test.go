package layout_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// TestNodeData pins the data of nodes: keys and their order, byte for byte.
func TestNodeData(t *testing.T) {
	t.Parallel()
	at := domain.At(time.Date(2026, 3, 1, 12, 0, 0, 5_000_000, time.UTC))
	j := domain.Job{ID: jid, Version: 3, State: domain.JobFailed, LastSuccessful: domain.JobEstimating, RetryCount: 2, Modified: at, CommandID: "c",
		Reason: &domain.Reason{Class: domain.ClassContent, Code: "digest", Message: "no", Attempt: 1, Worker: "w"}}
	b := domain.Batch{ID: bid, Version: 4, State: domain.BatchPending, Modified: at, CommandID: "d"}
	for want, v := range map[string]any{
		`{"status":"failed","last_successful_status":"estimating","last_modification_date":"2026-03-01T12:00:00.005Z","retry_count":2,` +
			`"message":"no","error":{"class":"content","code":"digest","attempt":1,"worker":"w"},"version":3,"command":"c"}`: layout.JobStatusOf(&j),
		`{"status":"pending","last_modified":"2026-03-01T12:00:00.005Z","version":4,"command":"d"}`: layout.BatchStatusOf(b),
		`{"rows":2,"first_jid":"jid0000000002","next_row":1}`:                                       layout.Progress{Listing: domain.Listing{Rows: 2, FirstJID: jid}, NextRow: 1},
		`{"version":3,"claims":1}`: layout.ClaimCount{Version: 3, Claims: 1},
		`{"holder":"w"}`:           layout.Holder{Holder: "w"},
		`{"bucket":1,"seq":-1}`:    eventstore.Offset{Bucket: 1, Seq: -1},
		``:                         nil,
	} {
		if got := string(layout.Encode(v)); got != want {
			t.Errorf("%T is\n%s, want\n%s", v, got, want)
		}
	}
	var status layout.JobStatus
	back := domain.Job{ID: jid}
	if err := json.Unmarshal(layout.Encode(layout.JobStatusOf(&j)), &status); err != nil {
		t.Fatal(err)
	}
	if status.Apply(&back); !cmp.Equal(j, back) {
		t.Errorf("read back:\n%s", cmp.Diff(j, back))
	}
}

// TestNames: names are parsed as they are made.
func TestNames(t *testing.T) {
	t.Parallel()
	item := root.OutboxItem(3, eventstore.Offset{Bucket: 12, Seq: 345})
	if want := "/r/outbox/03/b0000000012/e-0000000345"; item != want {
		t.Errorf("%s, want %s", item, want)
	}
	if n, err := layout.ParseOutboxItem(item); n != 345 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := layout.ParseOutboxItem("mark"); err == nil {
		t.Error("mark has a sequence")
	}
	for name, want := range map[string]int64{"b0000000012": 12, "mark": -1, "bx": -1} {
		if b, ok := layout.ParseBucket(name); ok != (want >= 0) || ok && b != want {
			t.Errorf("%s: %d, %v", name, b, ok)
		}
	}
	if s := layout.ShardOfKey(string(bid), 4); s != layout.ShardOf(eventstore.Change{Job: &eventstore.Transition[domain.Job]{To: jobIn("held", "")}}, 4) {
		t.Error("a job and its batch are in two shards")
	}
	if got := layout.Root("/a/b").Dirs()[:3]; !cmp.Equal(got, []string{"/a", "/a/b", "/a/b/batches"}) {
		t.Errorf("%v", got)
	}
}
