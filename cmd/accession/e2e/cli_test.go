package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// Who watched a batch to its end finds it ended in the tables.
func TestWatchedBatchIsShownAsEnded(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) }))
	stop := in.serveInProcess("daemons", "relay").stop
	deposit := []string{"submit", "--profile", "test", "--watch", "-o", "json", base + "/tide%20table.csv"}
	code, _, errs := in.call(deposit...)
	if code != 0 || !strings.Contains(errs, "the tables do not show this yet") {
		t.Errorf("nobody fills the tables: exit code %d\n%s", code, errs)
	}
	stop()
	in.serveInProcess()
	code, out, errs := in.call(deposit...)
	var end app.Progress
	if err := json.Unmarshal([]byte(out), &end); err != nil || code != 0 || strings.Contains(errs, "the tables") {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	v, err := in.app.BatchReport(in.ctx(), end.Batch, 10)
	if err != nil || v.Status != "completed" || v.FileName != "tide table.csv" || len(v.Jobs) != 1 || v.Jobs[0].FileName != "tide table.csv" {
		t.Errorf("%v: %+v", err, v)
	}
	if code, out, errs := in.call("batch", "ls"); code != 0 || strings.Count(out, "completed  ") < 2 || strings.Count(out, "tide table.csv") != 2 {
		t.Errorf("batch ls: exit code %d\n%s%s", code, out, errs)
	}
	code, out, errs = in.call("batch", "show", string(end.Batch), "--watch", "-o", "json")
	var again app.Progress
	if err := json.Unmarshal([]byte(out), &again); err != nil || code != 0 || again.Completed != 1 || again.Files.Processed != 1 || !strings.Contains(errs, "completed") {
		t.Errorf("watched once more: exit code %d, %v\n%s%s", code, err, out, errs)
	}
	in.tails(string(end.Batch))
	in.bars()
}

// tails checks which events are shown, of a batch that there is and of one that
// there is not.
func (in *installation) tails(batch string) {
	in.t.Helper()
	code, all, _ := in.call("events", "tail", "--from", "1", "-o", "json")
	_, start, _ := in.call("events", "tail", "--from", "0", "-o", "json")
	_, last, _ := in.call("events", "tail", "-o", "json")
	if code != 0 || strings.Count(last, "\n") != 20 || strings.Count(all, "\n") <= 20 || strings.Count(start, "\n") < strings.Count(all, "\n") {
		in.t.Errorf("%d events, from 0 %d, without a place %d", strings.Count(all, "\n"), strings.Count(start, "\n"), strings.Count(last, "\n"))
	}
	if code, out, errs := in.call("events", "tail", "--batch", batch); code != 0 || !strings.Contains(out, "batch.completed") {
		in.t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	for _, follow := range []string{"--follow=false", "--follow"} {
		if code, _, errs := in.call("events", "tail", "--batch", "bid0000000099", follow); code != 4 || !strings.Contains(errs, "there is no batch bid0000000099") {
			in.t.Errorf("%s: exit code %d\n%s", follow, code, errs)
		}
	}
}
