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
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
)

// Golden events are for ever: -update writes those that are missing and leaves
// the others as they are. Generated schemas are written anew.
//
// testdata/golden has every event in binary mode, which older logs have and which a log
// that is read today may have; testdata/structured has it as it is written now.
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
	for _, mode := range modes {
		for n, all := range generations() {
			for _, r := range all {
				if err := mode.writeMissing(r, n+1); err != nil {
					return err
				}
			}
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
	for _, k := range domain.SettingKinds {
		s, err := settingSchema(k)
		if err != nil {
			return err
		}
		schema, err := indented(s)
		if err != nil {
			return err
		}
		if err := os.WriteFile(settingPath(k), schema, 0o644); err != nil {
			return err
		}
	}
	event, err := eventSchema()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(docs, filepath.FromSlash(eventSchemaFile)), event, 0o644); err != nil {
		return err
	}
	return writePublished()
}

// versionOf returns the version of a message's type.
func versionOf(m codec.Message) int {
	name := codec.Identify(m).Type
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

// mode is one of the two envelopes that messages of the log have.
type mode struct {
	dir    string
	encode func(r domain.Recorded, instance string) (codec.Message, error)
}

var (
	binary     = mode{"golden", binarymode.Encode}
	structured = mode{"structured", codec.Encode}
	modes      = []mode{binary, structured}
)

// path names the golden event of a generation, from 1. Those after the first bear
// its number, and exist only where the type has got new fields.
func (g mode) path(t domain.EventType, version, generation int) string {
	name := fmt.Sprintf("%s.v%d.json", t, version)
	if generation > 1 {
		name = fmt.Sprintf("%s.v%d.%d.json", t, version, generation)
	}
	return filepath.Join("testdata", g.dir, name)
}

// read returns the golden event of the newest generation.
func (g mode) read(t *testing.T, name domain.EventType, version int) codec.Message {
	t.Helper()
	m, err := g.load(name, version, len(generations()))
	if err != nil {
		t.Fatalf("%v (go test ./eventstore/codec -update writes it)", err)
	}
	return m
}

// load returns the golden event of a generation, or of the last before it in
// which the type has got new fields.
func (g mode) load(name domain.EventType, version, generation int) (codec.Message, error) {
	raw, err := os.ReadFile(g.path(name, version, generation))
	if errors.Is(err, fs.ErrNotExist) && generation > 1 {
		return g.load(name, version, generation-1)
	}
	if err != nil {
		return codec.Message{}, err
	}
	var e goldenEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return codec.Message{}, err
	}
	var data bytes.Buffer
	if err := json.Compact(&data, e.Data); err != nil {
		return codec.Message{}, err
	}
	m := codec.Message{Subject: e.Subject, Header: map[string][]string{}, Data: data.Bytes()}
	for k, v := range e.Headers {
		m.Header[k] = []string{v}
	}
	return m, nil
}

func (g mode) writeMissing(r domain.Recorded, generation int) error {
	m, err := g.encode(r, "golden")
	if err != nil {
		return err
	}
	had, err := g.load(r.Type, versionOf(m), generation)
	if err == nil && bytes.Equal(had.Data, m.Data) {
		return nil
	}
	if _, err := os.Stat(g.path(r.Type, versionOf(m), generation)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e := goldenEvent{Subject: m.Subject, Headers: map[string]string{}, Data: m.Data}
	for k, v := range m.Header {
		e.Headers[k] = v[0]
	}
	b, err := indented(e)
	if err != nil {
		return err
	}
	return os.WriteFile(g.path(r.Type, versionOf(m), generation), b, 0o644)
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

// Every golden event of either mode still reads as the event it was made from, and
// the mode's writer returns the same bytes.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	for n, all := range generations() {
		if len(all) != len(domain.Registry) {
			t.Fatalf("%d samples for %d event types", len(all), len(domain.Registry))
		}
		for _, want := range all {
			for _, mode := range modes {
				t.Run(fmt.Sprintf("%s/%d/%s", mode.dir, n+1, want.Type), func(t *testing.T) {
					t.Parallel()
					mode.check(t, want, n+1)
				})
			}
		}
	}
}

func (g mode) check(t *testing.T, want domain.Recorded, generation int) {
	now, err := g.encode(want, "golden")
	if err != nil {
		t.Fatal(err)
	}
	newest := versionOf(now)
	for version := 1; version < newest; version++ {
		if _, err := codec.Decode(g.read(t, want.Type, version)); err != nil {
			t.Errorf("v%d: %v", version, err)
		}
	}
	golden, err := g.load(want.Type, newest, generation)
	if err != nil {
		t.Fatalf("%v (go test ./eventstore/codec -update writes it)", err)
	}
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
	plain, _ := binary.encode(want, "golden")
	had.Data = nil
	if diff := cmp.Diff(codec.Raw{Recorded: had, DataVersion: newest, JSON: plain.Data}, raw); diff != "" || err != nil {
		t.Errorf("without our types it differs: %v (-want +got):\n%s", err, diff)
	}
}

// A golden file that no version of a type claims would never be
// checked.
func TestNoStrayGoldenEvents(t *testing.T) {
	t.Parallel()
	claimed := map[string]bool{}
	for _, def := range domain.Registry {
		for version := 1; version <= newestVersion(t, def.Type); version++ {
			for generation := range generations() {
				claimed[filepath.Base(binary.path(def.Type, version, generation+1))] = true
			}
		}
	}
	for _, mode := range modes {
		files, err := os.ReadDir(filepath.Join("testdata", mode.dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !claimed[f.Name()] {
				t.Errorf("%s belongs to no version of an event type", f.Name())
			}
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
			m := binary.read(t, domain.EventJobAccepted, 1)
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
