package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Golden events are for ever: -update writes those that are missing and leaves
// the others as they are. Generated schemas are written anew.
var update = flag.Bool("update", false, "write missing golden events, rewrite schemas")

func TestMain(m *testing.M) {
	flag.Parse()
	if *update {
		if err := writeTestdata(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func writeTestdata() error {
	for _, r := range samples() {
		if err := writeMissingGolden(r); err != nil {
			return err
		}
	}
	for _, r := range samples() {
		def, _ := domain.Lookup(r.Type)
		s, err := generateSchema(def)
		if err != nil {
			return err
		}
		schema, err := indented(s)
		if err != nil {
			return err
		}
		m, err := codec.Encode(r, "golden")
		if err != nil {
			return err
		}
		if err := os.WriteFile(schemaPath(r.Type, versionOf(m)), schema, 0o644); err != nil {
			return err
		}
	}
	return writePublished()
}

// versionOf returns the version of a message's type.
func versionOf(m codec.Message) int {
	name := m.Header["ce-type"][0]
	version, err := strconv.Atoi(name[strings.LastIndex(name, ".v")+2:])
	if err != nil {
		panic(err)
	}
	return version
}

// newestVersion returns the version of a type that is written today.
func newestVersion(t *testing.T, name domain.EventType) int {
	t.Helper()
	for _, r := range samples() {
		if r.Type == name {
			m, err := codec.Encode(r, "golden")
			if err != nil {
				t.Fatal(err)
			}
			return versionOf(m)
		}
	}
	t.Fatalf("no sample of %s", name)
	return 0
}

// goldenEvent is a message in a form that people can read and compare.
type goldenEvent struct {
	Subject string            `json:"subject"`
	Headers map[string]string `json:"headers"`
	Data    json.RawMessage   `json:"data"`
}

func goldenPath(t domain.EventType, version int) string {
	return filepath.Join("testdata", "golden", fmt.Sprintf("%s.v%d.json", t, version))
}

func readGolden(t *testing.T, name domain.EventType, version int) codec.Message {
	t.Helper()
	m, err := loadGolden(name, version)
	if err != nil {
		t.Fatalf("%v (go test ./eventstore/codec -update writes it)", err)
	}
	return m
}

func loadGolden(name domain.EventType, version int) (codec.Message, error) {
	raw, err := os.ReadFile(goldenPath(name, version))
	if err != nil {
		return codec.Message{}, err
	}
	var g goldenEvent
	if err := json.Unmarshal(raw, &g); err != nil {
		return codec.Message{}, err
	}
	var data bytes.Buffer
	if err := json.Compact(&data, g.Data); err != nil {
		return codec.Message{}, err
	}
	m := codec.Message{Subject: g.Subject, Header: map[string][]string{}, Data: data.Bytes()}
	for k, v := range g.Headers {
		m.Header[k] = []string{v}
	}
	return m, nil
}

func writeMissingGolden(r domain.Recorded) error {
	m, err := codec.Encode(r, "golden")
	if err != nil {
		return err
	}
	if _, err := os.Stat(goldenPath(r.Type, versionOf(m))); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g := goldenEvent{Subject: m.Subject, Headers: map[string]string{}, Data: m.Data}
	for k, v := range m.Header {
		g.Headers[k] = v[0]
	}
	b, err := indented(g)
	if err != nil {
		return err
	}
	return os.WriteFile(goldenPath(r.Type, versionOf(m)), b, 0o644)
}

// indented returns JSON for people and for git.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Every golden event still reads as the event it was made from, and today's
// writer returns the same bytes.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	all := samples()
	if len(all) != len(domain.Registry) {
		t.Fatalf("%d samples for %d event types", len(all), len(domain.Registry))
	}
	for _, want := range all {
		t.Run(string(want.Type), func(t *testing.T) {
			t.Parallel()
			now, err := codec.Encode(want, "golden")
			if err != nil {
				t.Fatal(err)
			}
			newest := versionOf(now)
			for version := 1; version < newest; version++ {
				if _, err := codec.Decode(readGolden(t, want.Type, version)); err != nil {
					t.Errorf("v%d: %v", version, err)
				}
			}
			golden := readGolden(t, want.Type, newest)
			got, err := codec.Decode(golden)
			if err != nil {
				t.Fatal(err)
			}
			had := want
			had.Source = "/accession/golden"
			if diff := cmp.Diff(had, got); diff != "" {
				t.Errorf("decoded differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(golden, now); diff != "" {
				t.Errorf("encoded differs (-golden +now):\n%s", diff)
			}
			raw, err := codec.DecodeRaw(golden)
			had.Data = nil
			if diff := cmp.Diff(codec.Raw{Recorded: had, DataVersion: newest, JSON: golden.Data}, raw); diff != "" || err != nil {
				t.Errorf("without our types it differs: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A file in testdata/golden that no version of a type claims would never be
// checked.
func TestNoStrayGoldenEvents(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(filepath.Join("testdata", "golden"))
	if err != nil {
		t.Fatal(err)
	}
	claimed := map[string]bool{}
	for _, def := range domain.Registry {
		for version := 1; version <= newestVersion(t, def.Type); version++ {
			claimed[filepath.Base(goldenPath(def.Type, version))] = true
		}
	}
	for _, f := range files {
		if !claimed[f.Name()] {
			t.Errorf("%s belongs to no version of an event type", f.Name())
		}
	}
}

// A message that Encode did not write is refused by name, never half read.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*codec.Message)
		want  string
	}{
		"specversion": {func(m *codec.Message) { m.Header["ce-specversion"] = []string{"0.3"} }, "specversion"},
		"content":     {func(m *codec.Message) { m.Header["content-type"] = []string{"text/xml"} }, "content-type"},
		"type":        {func(m *codec.Message) { m.Header["ce-type"] = []string{"job.accepted"} }, "ce-type"},
		"unknown":     {func(m *codec.Message) { m.Header["ce-type"] = []string{"accession.job.danced.v1"} }, "upgrade"},
		"newer":       {func(m *codec.Message) { m.Header["ce-type"] = []string{"accession.job.accepted.v2"} }, "upgrade"},
		"kind":        {func(m *codec.Message) { m.Header["ce-type"] = []string{"accession.batch.held.v1"} }, "belongs to a batch"},
		"version":     {func(m *codec.Message) { m.Header["ce-version"] = []string{"x"} }, "ce-version"},
		"id":          {func(m *codec.Message) { m.Header["ce-id"] = []string{"job/jid0000000042/999"} }, "ce-id"},
		"subject":     {func(m *codec.Message) { m.Subject = "job.jid0000000043" }, "subject"},
		"escape":      {func(m *codec.Message) { m.Header["ce-actor"] = []string{"%zz"} }, "ce-actor"},
		"text":        {func(m *codec.Message) { m.Header["ce-actor"] = []string{"%FF"} }, "ce-actor"},
		"time":        {func(m *codec.Message) { m.Header["ce-time"] = []string{"noon"} }, "ce-time"},
		"data":        {func(m *codec.Message) { m.Data = m.Data[1:] }, "data of"},
		"nothing":     {func(m *codec.Message) { *m = codec.Message{} }, "specversion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := readGolden(t, domain.EventJobAccepted, 1)
			tc.spoil(&m)
			_, err := codec.Decode(m)
			if !errors.Is(err, codec.ErrBroken) || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("got %v, want a broken message that names %q", err, tc.want)
			}
			// Without our types, those that are not known are nobody's fault.
			if _, err := codec.DecodeRaw(m); errors.Is(err, codec.ErrBroken) == (name == "unknown") {
				t.Errorf("without our types: %v", err)
			}
		})
	}
}
