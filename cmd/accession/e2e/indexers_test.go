package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
)

// indexer is a program of another house that is killed and started again.
type indexer struct {
	t       *testing.T
	command []string
	index   string
	cmd     *exec.Cmd
	out     lockedBuffer
}

func (x *indexer) start() {
	x.t.Helper()
	x.cmd = exec.Command(x.command[0], append(x.command[1:], x.index)...) //nolint:noctx // the test kills it
	x.cmd.Stdout, x.cmd.Stderr = &x.out, &x.out
	if err := x.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
}

func (x *indexer) kill() {
	_ = x.cmd.Process.Kill()
	_ = x.cmd.Wait()
}

// indexed is what the test compares of a line.
type indexed struct {
	Event, Primary, Collection, Submitter, Title, Key string
	Version, Files                                    int
	Bytes                                             int64
}

// lines waits until the index has n lines.
func (x *indexer) lines(n int) (all []indexed) {
	x.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		data, err := os.ReadFile(x.index)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			x.t.Fatal(err)
		}
		if bytes.Count(data, []byte("\n")) >= n {
			for line := range bytes.Lines(data) {
				var e indexed
				if err := json.Unmarshal(line, &e); err != nil {
					x.t.Fatalf("%s: %v", line, err)
				}
				all = append(all, e)
			}
			return all
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("%v has indexed %d of %d objects\n%s", x.command, bytes.Count(data, []byte("\n")), n, x.out.String())
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestIndexers: the two example programs, one in Go with package follow and one in
// Python with the NATS protocol alone, index completed objects from one event each. They
// are killed, and so is the service with the role types, whose stream a third reads: each
// index has every object once, in the order of the log.
func TestIndexers(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 2, timeout: 2s")
	types := in.settings["nats_stream"] + "_TYPES"
	in.set("nats_types_stream="+types, "nats_types_prefix=types-"+strings.ToLower(in.settings["nats_stream"]))
	program := filepath.Join(t.TempDir(), "indexer")
	if out, err := exec.Command("go", "build", "-o", program, "../../../deploy/examples/indexer").CombinedOutput(); err != nil { //nolint:noctx // short
		t.Fatalf("%v\n%s", err, out)
	}
	nats := in.settings["nats"]
	script := []string{"python3", "../../../deploy/examples/indexer.py", "--nats", nats}
	all := []*indexer{
		{t: t, command: []string{program, "-nats", nats, "-stream", in.settings["nats_stream"], "-prefix", in.settings["nats_prefix"]}},
		{t: t, command: append(script[:4:4], "--stream", in.settings["nats_stream"], "--subject", in.settings["nats_prefix"]+".job.*")},
		{t: t, command: append(script[:4:4], "--stream", types, "--subject", in.settings["nats_types_prefix"]+".types.job.completed.*")},
	}
	base := webServer(t, samples.Handler())
	service := in.serve("--roles", "all,types")
	in.rest(in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest}))
	t.Cleanup(func() {
		nc, closing := in.connectNATS()
		defer closing()
		js, err := jetstream.New(nc)
		in.should(err)
		in.should(js.DeleteStream(context.Background(), types))
	})
	first := in.completed()
	for i, x := range all {
		x.index = filepath.Join(t.TempDir(), "index.jsonl")
		x.awaitStream(in, types, i == 2)
		x.start()
		t.Cleanup(x.kill)
		x.lines(1)
		x.kill()
	}
	service.kill() // the role types in the middle of its work, and everything else
	id := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest, Title: "again"})
	in.serve("--roles", "all,types")
	for _, x := range all {
		x.start()
		x.lines(len(first))
		x.kill()
		x.start()
	}
	in.rest(id)
	want := in.completed()
	if len(want) <= len(first) || len(first) == 0 {
		t.Fatalf("%d objects were completed, and then %d", len(first), len(want))
	}
	for _, x := range all {
		if d := cmp.Diff(want, x.lines(len(want))); d != "" {
			t.Errorf("%s has another index (-want +got):\n%s", strings.Join(x.command, " "), d)
		}
	}
}

// TestIndexerScriptReadsBothModes: the program in Python finds the same in an event of an
// older log, which has its attributes in headers, as in one of today.
func TestIndexerScriptReadsBothModes(t *testing.T) {
	t.Parallel()
	r := domain.Recorded{Event: domain.Event{Type: domain.EventSettingChanged, Aggregate: domain.SettingAggregate(domain.HoldCollection, "Å maps"), Version: 1,
		Data: &domain.SettingChanged{Why: "100 % “done”"}}, CommandID: "c"}
	const script = `
import json, sys
sys.path.insert(0, "../../../deploy/examples")
import indexer
m = json.load(sys.stdin)
attributes, event = indexer.opened_event({name: values[0] for name, values in m["Header"].items()}, m["Body"])
print(json.dumps([attributes["id"], attributes["type"], event["why"]]))
`
	for name, encode := range map[string]func(domain.Recorded, string) (codec.Message, error){"structured": codec.Encode, "binary": binarymode.Encode} {
		m, err := encode(r, "test")
		if err != nil {
			t.Fatal(err)
		}
		in, err := json.Marshal(map[string]any{"Header": m.Header, "Body": string(m.Data)})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("python3", "-B", "-c", script) //nolint:noctx // short
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.Output()
		var got []string
		if err == nil {
			err = json.Unmarshal(out, &got)
		}
		want := []string{r.ID(), "accession.setting.changed.v1", "100 % “done”"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// awaitStream waits until the stream by types is there.
func (x *indexer) awaitStream(in *installation, stream string, needed bool) {
	x.t.Helper()
	nc, closing := in.connectNATS()
	defer closing()
	js, err := jetstream.New(nc)
	if err != nil {
		x.t.Fatal(err)
	}
	for needed {
		if _, err := js.Stream(in.ctx(), stream); err == nil {
			return
		} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
			x.t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// completed lists what the log says of completed objects.
func (in *installation) completed() (all []indexed) {
	in.t.Helper()
	for r, err := range in.log.Read(in.ctx(), eventstore.ReadOptions{}) {
		if err != nil {
			in.t.Fatal(err)
		}
		d, ok := r.Data.(*domain.JobDone)
		if !ok {
			continue
		}
		if d.Deposit == nil || d.Object == nil {
			in.t.Fatalf("%s does not stand alone: %+v", r.ID(), d)
		}
		all = append(all, indexed{r.ID(), d.Object.Primary, d.Collection, d.Deposit.Submitter, d.Deposit.ErcWhat, d.Object.ManifestKey,
			d.Object.Version, d.Object.Files, d.Object.Bytes})
	}
	return all
}
