package codec_test

import (
	"bytes"
	"encoding/json"
	"maps"
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
	{domain.KindSetting, "Settings", "Holds, pauses and timeouts, and maintenance."},
	{domain.KindQuery, "Queries", "Changes of a list of identifiers that is to be answered."},
	{domain.KindSlot, "Slots", "Changes of a group of files of a dataset, which may be processed within a time window."},
	{domain.KindEntry, "Entries", "Changes of work in the compute queue."},
}

// field is a header or an attribute of an event.
type field struct {
	name, doc string
	optional  bool
	schema    object
}

// headers are those of every event.
var headers = []field{
	{codec.HeaderContentType, "The whole event is JSON, in structured mode of CloudEvents.", false, object{"type": "string", "const": "application/cloudevents+json"}},
	{codec.HeaderStored, "When the log first stored the event. Only on events that were lost and restored.", true, object{"type": "string", "format": "date-time"}},
}

// attributes are those of every event.
var attributes = []field{
	{"specversion", "Version of CloudEvents.", false, object{"type": "string", "const": "1.0"}},
	{"id", "KIND/ID/VERSION: unique, and never changes.", false, text},
	{"type", "accession.TYPE.vN: the type of the event and the version of its data.", false, object{"type": "string", "pattern": `^accession\.[a-z_.]+\.v[1-9][0-9]*$`}},
	{"source", "The installation: /accession/NAME.", false, text},
	{"subject", "The aggregate of the event: KIND/ID.", false, object{"type": "string", "pattern": "^(batch|job|file|setting|query|slot|entry)/."}},
	{"time", "Clock of the writer, UTC. Not for ordering.", false, object{"type": "string", "format": "date-time"}},
	{"dataschema", "Id of the JSON Schema of the data.", false, text},
	{"version", "Number of the event within its subject, from 1 without gaps; digits, as text.", false, digits},
	{"zxid", "Commit number of ZooKeeper, as text: orders events of batches, jobs and settings within one epoch. Not on events of files.", true, digits},
	{"epoch", "Epoch, from 1, as text; every restore of the live state begins a new one.", true, digits},
	{"batchid", "The batch that the aggregate belongs to. Not on events of settings.", true, text},
	{"actor", "Actor, such as daemon/job-provisioning, daemon/sweeper or user/olga.", true, text},
	{"commandid", "Id of the command that caused the event; the same on every retry.", true, text},
	{"causationid", "id of the event that the writer reacted to.", true, text},
	{"traceparent", "W3C trace context; the same in all events of one trace.", true, text},
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
			golden, err := structured.load(r.Type, versionOf(m), len(generations()))
			if err != nil {
				return nil, err
			}
			id := strings.TrimPrefix(codec.Identify(m).Type, "accession.")
			carried[id] = object{"$ref": "#/components/messages/" + id}
			messages[id] = object{"name": codec.Identify(m).Type, "title": string(r.Type), "summary": def.Doc, "contentType": "application/cloudevents+json",
				"headers": object{"$ref": "#/components/schemas/headers"},
				"payload": object{"allOf": []object{{"$ref": eventSchemaFile},
					{"type": "object", "properties": object{"data": object{"$ref": schemaFile(r.Type, versionOf(m))}}}}},
				"examples": []object{{"headers": object{codec.HeaderContentType: golden.Header[codec.HeaderContentType][0]}, "payload": json.RawMessage(golden.Data)}}}
		}
	}
	return object{
		"asyncapi": "3.0.0",
		"info": object{"title": "Accession: events", "version": "1.0.0",
			"description": "The history of batches, jobs, files and settings: CloudEvents 1.0 in structured mode on a JetStream stream (ACCESSION unless nats_stream says otherwise; subjects begin with accession.v1 unless nats_prefix does). Order, exactly once, and what may change: events.md.",
			"license":     object{"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"}},
		"defaultContentType": "application/cloudevents+json",
		"channels":           channels,
		"operations":         operations,
		"components": object{"messages": messages,
			"schemas": object{"headers": schemaOfFields(headers)}},
	}, nil
}

func schemaOfFields(list []field) object {
	properties, required := object{}, []string{}
	for _, f := range list {
		property := object{"description": f.doc}
		for k, v := range f.schema {
			property[k] = v
		}
		if properties[f.name] = property; !f.optional {
			required = append(required, f.name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// eventSchemaFile has the schema of an event as a whole; its data has one by type.
const eventSchemaFile = "event.schema.json"

// eventSchema makes the schema of an event as a whole.
func eventSchema() ([]byte, error) {
	s := schemaOfFields(append(slices.Clone(attributes), field{"data", "As the schema of the type says.", false, object{"type": "object"}}))
	s["$schema"], s["$id"] = "https://json-schema.org/draft/2020-12/schema", "urn:accession:event"
	s["title"] = "Event"
	return indented(s)
}

// The schema of the body is that of the attributes, and every event agrees with it.
func TestEventSchema(t *testing.T) {
	t.Parallel()
	want, err := eventSchema()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(docs, filepath.FromSlash(eventSchemaFile))
	if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, want) {
		t.Fatalf("the stored schema is out of date (%v): go test ./eventstore/codec -update writes it", err)
	}
	schema := compileFile(t, path, "urn:accession:event")
	for _, r := range fuller() {
		m, err := codec.Encode(r, "golden")
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(schema, m.Data); err != nil {
			t.Errorf("%s: %v", r.Type, err)
		}
		if validate(schema, bytes.Replace(m.Data, []byte(`"subject"`), []byte(`"object"`), 1)) == nil {
			t.Errorf("%s: valid without its subject", r.Type)
		}
	}
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
			example := m["examples"].([]any)[0].(object)
			event := example["payload"].(object)
			parts := m["payload"].(object)["allOf"].([]any)
			for ref, value := range map[string]any{parts[0].(object)["$ref"].(string): event,
				parts[1].(object)["properties"].(object)["data"].(object)["$ref"].(string): event["data"]} {
				if err := compileAs(t, withoutDraft(t, ref), validator.Draft7).Validate(value); err != nil {
					t.Errorf("%s, %s: %v", id, ref, err)
				}
			}
			if err := headers.Validate(example["headers"]); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			subject, err := codec.Subject(codec.DefaultPrefix, aggregateOf(t, event["subject"].(string)))
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

// withoutDraft reads a published schema that any draft may read.
func withoutDraft(t *testing.T, ref string) any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(docs, filepath.FromSlash(ref)))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := validator.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	delete(schema.(object), "$schema")
	return schema
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

// Every header and every attribute that is written is described, and those that are said
// to be always there are.
func TestEventsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, r := range samples() {
		m, err := codec.Encode(r, "golden")
		if err != nil {
			t.Fatal(err)
		}
		var event map[string]json.RawMessage
		if err := json.Unmarshal(m.Data, &event); err != nil {
			t.Fatal(err)
		}
		delete(event, "data")
		checkDescribed(t, r.Type, headers, slices.Collect(maps.Keys(m.Header)))
		checkDescribed(t, r.Type, attributes, slices.Collect(maps.Keys(event)))
	}
}

func checkDescribed(t *testing.T, what domain.EventType, list []field, written []string) {
	t.Helper()
	for _, f := range list {
		if !f.optional && !slices.Contains(written, f.name) {
			t.Errorf("%s lacks %s", what, f.name)
		}
	}
	for _, name := range written {
		if !slices.ContainsFunc(list, func(f field) bool { return f.name == name }) {
			t.Errorf("%s has %s, which is not described", what, name)
		}
	}
}
