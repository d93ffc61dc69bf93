package e2e

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestSimulateOwnHistory simulates from events of the service: every deposit that was grabbed
// is among them, and waited as long as SQL says.
func TestSimulateOwnHistory(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "queue_concurrency=metadata=1")
	files := newFiles(t, 1, -1).URL
	in.serveInProcess()
	for _, user := range []string{"ana", "ana", "ana", "ben"} {
		in.depositBy(user, files+"/file/1", domain.TypeFile)
	}
	in.seen(4, domain.EventBatchReported)
	in.shown()
	events := filepath.Join(t.TempDir(), "events.jsonl")
	in.says(0, words("replay --type batch.* --format jsonl --out "+events))
	type waits struct {
		Max float64 `json:"max_seconds"`
	}
	type ofUser struct {
		User     string `json:"user"`
		Deposits int    `json:"deposits"`
		Grabbed  int    `json:"grabbed"`
		Really   *waits `json:"really"`
	}
	var got struct {
		Unreported int      `json:"unreported"`
		All        ofUser   `json:"all"`
		Users      []ofUser `json:"users"`
	}
	in.must(json.Unmarshal([]byte(in.says(0, words("queue simulate --servers 1 -o json --from "+events))), &got))
	if got.Unreported != 0 || got.All.Deposits != 4 || got.All.Grabbed != 4 || len(got.Users) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, u := range append(got.Users, got.All) {
		var grabs int
		var longest float64
		in.must(in.db.QueryRow(t.Context(), "select count(*), max(waited_seconds)::float8 from report.grab where $1 in ('', user_name)", u.User).Scan(&grabs, &longest))
		if u.Really == nil || u.Grabbed != grabs || u.Deposits != grabs || math.Abs(u.Really.Max-longest) > 0.001 {
			t.Errorf("%+v %+v, but %d grabs, and at most %f s", u, u.Really, grabs, longest)
		}
	}
}
