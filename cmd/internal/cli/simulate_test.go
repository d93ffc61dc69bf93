package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
)

// TestExamplesOfTheSimulator runs every command of docs/queues.md that shows its output.
func TestExamplesOfTheSimulator(t *testing.T) {
	t.Parallel()
	const page = "../../../docs/queues.md"
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	want := told.ReplaceAllStringFunc(string(have), func(block string) string {
		n++
		command := told.FindStringSubmatch(block)[1]
		code, out, errs := call(t, nil, strings.Fields(command)...)
		if code != 0 {
			t.Fatalf("accession %s: exit code %d\n%s", command, code, errs)
		}
		return "```console\n$ accession " + command + "\n" + out + "```\n"
	})
	if n < 2 {
		t.Errorf("the page has only %d examples", n)
	}
	if *write {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(have), want); diff != "" {
		t.Errorf("docs/queues.md is out of date; run `make documents`:\n%s", diff)
	}
}

// TestSimulateRecordedEvents: batches of a file, as JSON, with a plot; no server is
// asked.
func TestSimulateRecordedEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	events := filepath.Join(dir, "events.jsonl")
	if err := os.WriteFile(events, []byte(`
{"type":"batch.submitted","subject":"batch/bid0000000001","time":"2026-03-01T12:00:00.000Z","data":{"submission":{"submitter":"ana"}}}
{"type":"batch.submitted","subject":"batch/bid0000000002","time":"2026-03-01T12:00:01.000Z","data":{"submission":{"submitter":"ana"}}}
{"type":"batch.submitted","subject":"batch/bid0000000003","time":"2026-03-01T12:00:02.000Z","data":{"submission":{"submitter":"ben"}}}
{"type":"batch.submitted","subject":"batch/bid0000000004","time":"2026-03-01T12:00:03.000Z","data":{"submission":{"submitter":"ben"}}}
{"type":"batch.completed","subject":"batch/bid0000000001","time":"2026-03-01T12:00:10.000Z","data":{}}
{"type":"batch.completed","subject":"batch/bid0000000002","time":"2026-03-01T12:00:11.000Z","data":{}}
{"type":"batch.failed","subject":"batch/bid0000000003","time":"2026-03-01T12:00:12.000Z","data":{}}
`[1:]), 0o600); err != nil {
		t.Fatal(err)
	}
	for format, begins := range map[string]string{"svg": "<?xml", "png": "\x89PNG"} {
		plot := filepath.Join(dir, "waits."+format)
		code, out, errs := call(t, nil, "queue", "simulate", "--from", events, "--servers", "1", "--plot", plot, "-o", "json")
		var got views.Simulation
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
			t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
		}
		// ana's second batch and ben's first wait for ana's first; ana is back in the ring
		// before ben joins.
		if got.Seed != nil || got.Unreported != 1 || got.All.Deposits != 3 || got.Users[0].User != "ana" || got.Users[0].Fair.Max != 9 || got.Users[1].FIFO.P50 != 18 {
			t.Errorf("%+v", got)
		}
		if drawn, err := os.ReadFile(plot); err != nil || !strings.HasPrefix(string(drawn), begins) {
			t.Errorf("%v, %.20q", err, drawn)
		}
	}
	code, out, _ := call(t, nil, "queue", "simulate", "--from", events)
	if code != 0 || !strings.Contains(out, "left out: 1\n") || !strings.Contains(out, "all users") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestSimulateGrabs: how long batches that were grabbed really waited stands beside the two
// rules.
func TestSimulateGrabs(t *testing.T) {
	t.Parallel()
	events := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(events, []byte(`
{"type":"batch.submitted","subject":"batch/bid0000000001","time":"2026-03-01T12:00:00.000Z","data":{"submission":{"submitter":"ana"},"ticket":{"queue":"metadata","user":"ana","slot":1}}}
{"type":"batch.submitted","subject":"batch/bid0000000002","time":"2026-03-01T12:00:00.000Z","data":{"submission":{"submitter":"ana"},"ticket":{"queue":"metadata","user":"ana","slot":1}}}
{"type":"batch.grabbed","subject":"batch/bid0000000001","time":"2026-03-01T12:00:01.000Z","data":{"ticket":{"queue":"metadata","user":"ana","slot":1,"turn":1}}}
{"type":"batch.completed","subject":"batch/bid0000000001","time":"2026-03-01T12:00:11.000Z","data":{}}
{"type":"batch.grabbed","subject":"batch/bid0000000002","time":"2026-03-01T12:00:32.000Z","data":{"ticket":{"queue":"metadata","user":"ana","slot":1,"turn":2}}}
{"type":"batch.completed","subject":"batch/bid0000000002","time":"2026-03-01T12:00:42.000Z","data":{}}
`[1:]), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := call(t, nil, "queue", "simulate", "--from", events, "--servers", "1")
	if code != 0 || !strings.Contains(out, "really p50") || !strings.Contains(out, "32s") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, out, errs = call(t, nil, "queue", "simulate", "--from", events, "--servers", "1", "-o", "json")
	var got views.Simulation
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if a := got.All; a.Grabbed != 2 || a.Actual == nil || a.Actual.P50 != 1 || a.Actual.Max != 32 || a.Fair.Max != 10 {
		t.Errorf("%+v %+v", a, a.Actual)
	}
}

// TestSimulateRefuses: what does not fit is said, with what to do.
func TestSimulateRefuses(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--servers 0":                  "give a whole number from 1 to",
		"--allocation x":               "give a whole number from 1 to",
		"--skew -1":                    "give a number from 0 to 100",
		"--use 0":                      "give a number from 0.01 to 100",
		"--skew NaN":                   "give a number from 0 to 100",
		"--service 0s":                 "give a duration from 1ms to 24h",
		"--plot waits.pdf":             "give a file that ends in .svg or .png",
		"--from events.jsonl --seed 7": "--seed is for generated deposits",
		"--from no-such-file.jsonl":    "no such file",
		"--from simulate_test.go":      "line 1 is no event",
		"--deposits 10 --plot " + "../../../docs/cli.png/x.svg": "cli.png",
	} {
		if code, _, errs := call(t, nil, strings.Fields("queue simulate "+args)...); code == 0 || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d does not say %q:\n%s", args, code, says, errs)
		}
	}
}
