package codec_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

var asyncAPIPath = filepath.Join(docs, "asyncapi.json")

// kinds are the channels, in the order of the documentation.
var kinds = []struct {
	kind       domain.Kind
	title, doc string
}{
	{domain.KindBatch, "Batches", "Changes of a deposit."},
	{domain.KindJob, "Jobs", "Changes of one object of a deposit."},
	{domain.KindFile, "Files", "Changes of one file of an object, including every attempt to download and process it."},
	{domain.KindSetting, "Settings", "Holds and pauses, and maintenance."},
}

// headers are those of every event.
var headers = []struct {
	name, doc string
	optional  bool
	schema    object
}{
	{"ce-specversion", "Version of CloudEvents.", false, object{"type": "string", "const": "1.0"}},
	{"ce-id", "KIND/ID/VERSION: unique, and never changes.", false, text},
	{"ce-type", "accession.TYPE.vN: the type of the event and the version of its data.", false, object{"type": "string", "pattern": `^accession\.[a-z_.]+\.v[1-9][0-9]*$`}},
	{"ce-source", "The installation: /accession/NAME.", false, text},
	{"ce-subject", "The aggregate of the event: KIND/ID.", false, object{"type": "string", "pattern": "^(batch|job|file|setting)/."}},
	{"ce-time", "Clock of the writer, UTC. Not for ordering.", false, object{"type": "string", "format": "date-time"}},
	{"ce-dataschema", "Id of the JSON Schema of the data.", false, text},
	{"ce-version", "Number of the event within its subject, from 1 without gaps.", false, digits},
	{"ce-zxid", "Commit number of ZooKeeper: orders events of batches, jobs and settings within one epoch. Not on events of files.", true, digits},
	{"ce-epoch", "Epoch, from 1; every restore of the live state begins a new one.", true, digits},
	{"ce-batchid", "The batch that the aggregate belongs to. Not on events of settings.", true, text},
	{"ce-actor", "Actor, such as daemon/job-provisioning, daemon/sweeper or user/olga.", true, text},
	{"ce-commandid", "Id of the command that caused the event; the same on every retry.", true, text},
	{"ce-causationid", "ce-id of the event that the writer reacted to.", true, text},
	{"ce-traceparent", "W3C trace context; the same in all events of one trace.", true, text},
	{codec.HeaderStored, "When the log first stored the event. Only on events that were lost and restored.", true, object{"type": "string", "format": "date-time"}},
	{"content-type", "Media type of the data.", false, object{"type": "string", "const": "application/json"}},
}

type object = map[string]any

var (
	text   = object{"type": "string"}
	digits = object{"type": "string", "pattern": "^[1-9][0-9]*$"}
)

// asyncAPI describes the stream: a channel for each kind, a message for each type,
// with its golden event as the example.
func asyncAPI() (object, error) {
	channels, operations, messages := object{}, object{}, object{}
	properties, required := object{}, []string{}
	for _, h := range headers {
		property := object{"description": h.doc}
		for k, v := range h.schema {
			property[k] = v
		}
		if properties[h.name] = property; !h.optional {
			required = append(required, h.name)
		}
	}
	for _, k := range kinds {
		name := string(k.kind)
		carried := object{}
		operations["read_"+name] = object{"action": "send", "channel": object{"$ref": "#/channels/" + name}, "summary": "Accession writes; others read."}
		channels[name] = object{"address": codec.DefaultPrefix + "." + name + ".{id}", "title": k.title, "description": k.doc, "messages": carried,
			"parameters": object{"id": object{"description": "The " + name + "'s id; every byte but a–z, 0–9 and the dash as _ and two hexadecimal digits."}}}
		for _, r := range samples() {
			if r.Aggregate.Kind != k.kind {
				continue
			}
			def, _ := domain.Lookup(r.Type)
			m, err := codec.Encode(r, "golden")
			if err != nil {
				return nil, err
			}
			golden, err := loadGolden(r.Type, versionOf(m))
			if err != nil {
				return nil, err
			}
			example := object{}
			for name, values := range golden.Header {
				example[name] = values[0]
			}
			id := strings.TrimPrefix(m.Header["ce-type"][0], "accession.")
			carried[id] = object{"$ref": "#/components/messages/" + id}
			messages[id] = object{"name": m.Header["ce-type"][0], "title": string(r.Type), "summary": def.Doc, "contentType": "application/json",
				"headers":  object{"$ref": "#/components/schemas/headers"},
				"payload":  object{"$ref": schemaFile(r.Type, versionOf(m))},
				"examples": []object{{"headers": example, "payload": json.RawMessage(golden.Data)}}}
		}
	}
	return object{
		"asyncapi": "3.0.0",
		"info": object{"title": "Accession: events", "version": "1.0.0",
			"description": "The history of batches, jobs, files and settings: CloudEvents 1.0 in binary mode on a JetStream stream (ACCESSION unless nats_stream says otherwise; subjects begin with accession.v1 unless nats_prefix does). Order, exactly once, and what may change: events.md.",
			"license":     object{"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"}},
		"defaultContentType": "application/json",
		"channels":           channels,
		"operations":         operations,
		"components": object{"messages": messages,
			"schemas": object{"headers": object{"type": "object", "properties": properties, "required": required}}},
	}, nil
}

func readAsyncAPI(t *testing.T) object {
	t.Helper()
	stored, err := os.ReadFile(asyncAPIPath)
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(stored, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The stored document is that of the registry, and is AsyncAPI 3.0 by the schema
// of those who define it.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	doc, err := asyncAPI()
	if err != nil {
		t.Fatal(err)
	}
	want, err := indented(doc)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(asyncAPIPath)
	if err != nil || !bytes.Equal(stored, want) {
		t.Fatalf("the stored document is not that of the registry (%v): go test ./eventstore/codec -update writes it", err)
	}
	c := validator.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(filepath.Join("testdata", "asyncapi", "3.0.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(s, stored); err != nil {
		t.Error(err)
	}
	for name, spoiled := range map[string]string{
		"no version":    strings.Replace(string(stored), `"asyncapi": "3.0.0"`, `"asyncapi": "2.0.0"`, 1),
		"another verb":  strings.Replace(string(stored), `"action": "send"`, `"action": "shout"`, 1),
		"unknown field": strings.Replace(string(stored), `"channels": {`, `"chanels": {}, "channels": {`, 1),
	} {
		if spoiled == string(stored) || validate(s, []byte(spoiled)) == nil {
			t.Errorf("%s: valid", name)
		}
	}
}

// Everything that the document refers to is there; each type is one message on the
// channel of its kind; examples agree with the schemas of headers and data, in the
// draft of AsyncAPI as well; and channels give the subjects that events go to.
func TestAsyncAPIHoldsTogether(t *testing.T) {
	t.Parallel()
	doc := readAsyncAPI(t)
	at := func(ref string) any {
		var v any = doc
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			v = v.(object)[name]
		}
		if v == nil {
			t.Fatalf("%s leads nowhere", ref)
		}
		return v
	}
	headers := compileAs(t, at("#/components/schemas/headers"), validator.Draft7)
	carried := 0
	for name, c := range at("#/channels").(object) {
		for id, ref := range c.(object)["messages"].(object) {
			carried++
			m := at(ref.(object)["$ref"].(string)).(object)
			kind, _, _ := strings.Cut(m["title"].(string), ".")
			if kind != name || m["name"] != "accession."+id {
				t.Errorf("message %s (%s) is on the channel of a %s", id, m["name"], name)
			}
			raw, err := os.ReadFile(filepath.Join(docs, m["payload"].(object)["$ref"].(string)))
			if err != nil {
				t.Fatal(err)
			}
			payload, err := validator.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			delete(payload.(object), "$schema")
			example := m["examples"].([]any)[0].(object)
			if err := compileAs(t, payload, validator.Draft7).Validate(example["payload"]); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if err := headers.Validate(example["headers"]); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			subject, err := codec.Subject(codec.DefaultPrefix, aggregateOf(t, example["headers"].(object)["ce-subject"].(string)))
			want := strings.Split(c.(object)["address"].(string), "{id}")
			if err != nil || len(want) != 2 || !strings.HasPrefix(subject, want[0]) || strings.Contains(strings.TrimPrefix(subject, want[0]), ".") {
				t.Errorf("%s: subject %s on channel %q (%v)", id, subject, want, err)
			}
		}
	}
	for _, o := range at("#/operations").(object) {
		at(o.(object)["channel"].(object)["$ref"].(string))
	}
	if carried != len(domain.Registry) || len(at("#/components/messages").(object)) != carried {
		t.Errorf("%d messages for %d types", carried, len(domain.Registry))
	}
}

func aggregateOf(t *testing.T, name string) domain.Aggregate {
	t.Helper()
	a, err := domain.ParseAggregate(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func compileAs(t *testing.T, doc any, draft *validator.Draft) *validator.Schema {
	t.Helper()
	c := validator.NewCompiler()
	c.DefaultDraft(draft)
	if err := c.AddResource("urn:test", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every header that is written is described, and those that are said to be always
// there are.
func TestHeadersAreDescribed(t *testing.T) {
	t.Parallel()
	var all, always []string
	for _, h := range headers {
		if all = append(all, h.name); !h.optional {
			always = append(always, h.name)
		}
	}
	if !slices.Contains(all, codec.HeaderStored) { // a log adds it
		t.Errorf("the header %s is not described", codec.HeaderStored)
	}
	for _, r := range samples() {
		m, err := codec.Encode(r, "golden")
		if err != nil {
			t.Fatal(err)
		}
		for name := range m.Header {
			if !slices.Contains(all, name) {
				t.Errorf("%s has the header %s, which is not described", r.Type, name)
			}
		}
		for _, name := range always {
			if m.Header[name] == nil {
				t.Errorf("%s lacks the header %s", r.Type, name)
			}
		}
	}
}
