package codec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// docs is where what other programs need to know is published.
var docs = filepath.Join("..", "..", "docs")

func schemaFile(t domain.EventType, version int) string {
	return fmt.Sprintf("schemas/%s.v%d.schema.json", t, version)
}

func schemaPath(t domain.EventType, version int) string {
	return filepath.Join(docs, filepath.FromSlash(schemaFile(t, version)))
}

// comments are those of the domain's fields.
var comments = sync.OnceValues(func() (map[string]string, error) {
	var r jsonschema.Reflector
	err := r.AddGoComments("github.com/accession-ingest/accession/eventstore/codec", filepath.Join("..", "..", "domain"))
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	return r.CommentMap, err
})

// generateSchema makes the JSON Schema (2020-12) of an event type's data from
// its Go struct and the workflow tables. It does not refuse fields that it does
// not name: new ones may come.
func generateSchema(def domain.EventDef) (*jsonschema.Schema, error) {
	text, err := comments()
	if err != nil {
		return nil, err
	}
	r := jsonschema.Reflector{DoNotReference: true, ExpandedStruct: true, Anonymous: true, AllowAdditionalProperties: true, Mapper: schemaOfType, CommentMap: text}
	s := r.Reflect(def.New())
	s.ID = jsonschema.ID(codec.NewestSchemaID(def.Type))
	s.Title, s.Description = string(def.Type), def.Doc
	from, to := moves(def)
	setEnum(s, "from", from)
	setEnum(s, "to", to)
	return s, nil
}

// settingSchema makes the schema of setting.changed for one kind of settings.
func settingSchema(k domain.SettingDescription) (*jsonschema.Schema, error) {
	def, _ := domain.Lookup(domain.EventSettingChanged)
	s, err := generateSchema(def)
	if err != nil {
		return nil, err
	}
	s.ID += jsonschema.ID(":" + string(k.Kind))
	s.Title, s.Description = s.Title+", kind "+string(k.Kind), k.Doc
	kind, _ := s.Properties.Get("kind")
	kind.Const = string(k.Kind)
	for _, name := range []string{"previous", "value"} {
		property, _ := s.Properties.Get(name)
		property.Required = []string{k.Value}
	}
	states := []any{"open", "held"}
	if !k.Kind.Stops() {
		states = []any{"unset", "set"}
	}
	setEnum(s, "from", states)
	setEnum(s, "to", states)
	return s, nil
}

// settingPath is the file of a kind's schema.
func settingPath(k domain.SettingDescription) string {
	return filepath.Join(docs, "schemas", "settings", "setting.changed."+string(k.Kind)+".v1.schema.json")
}

// schemaOfType returns the types whose JSON is not what their Go kind says.
func schemaOfType(t reflect.Type) *jsonschema.Schema {
	null := &jsonschema.Schema{Type: "null"}
	switch {
	case t == reflect.TypeFor[domain.Time]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", Format: "date-time"}, null}}
	case t == reflect.TypeFor[domain.JobState]():
		return &jsonschema.Schema{Type: "string", Enum: values(domain.JobNone, domain.JobStates)}
	case t == reflect.TypeFor[domain.SubmissionType]():
		return &jsonschema.Schema{Type: "string", Enum: values("", domain.SubmissionTypes)}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String: // an empty list may be written as null
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "array", Items: &jsonschema.Schema{Type: "string"}}, null}}
	}
	return nil
}

// moves returns the states that an event type may lead from and to: those of its
// rows, or every state for an event that changes none.
func moves(def domain.EventDef) (from, to []any) {
	add := func(list *[]any, state string) {
		if !slices.Contains(*list, any(state)) {
			*list = append(*list, state)
		}
	}
	for _, row := range domain.BatchTransitions {
		if row.Event == def.Type {
			add(&from, string(row.From))
			add(&to, string(row.To))
		}
	}
	for _, row := range domain.JobTransitions {
		if row.Event == def.Type {
			add(&from, string(row.From))
			add(&to, string(row.To))
		}
	}
	for _, row := range domain.FileTransitions {
		if row.Event == def.Type {
			add(&from, string(row.From))
			add(&to, string(row.To))
		}
	}
	for _, row := range lookup.Transitions {
		if row.Event == def.Type {
			add(&from, string(row.From))
			add(&to, string(row.To))
		}
	}
	for _, row := range slot.Transitions {
		if row.Event == def.Type {
			add(&from, string(row.From))
			add(&to, string(row.To))
		}
	}
	for _, row := range compute.Transitions {
		if row.Event == def.Type {
			add(&from, string(row.From))
			add(&to, string(row.To))
		}
	}
	if len(from) > 0 {
		return from, to
	}
	switch def.Kind {
	case domain.KindBatch:
		from = values(domain.BatchStates[0], domain.BatchStates[1:])
	case domain.KindJob:
		from = values(domain.JobStates[0], domain.JobStates[1:])
	case domain.KindSetting:
		from = []any{"open", "held", "unset", "set"}
	}
	return from, from
}

func setEnum(s *jsonschema.Schema, property string, enum []any) {
	if p, ok := s.Properties.Get(property); ok {
		p.Enum = enum
	}
}

func values[S ~string](first S, rest []S) []any {
	list := []any{string(first)}
	for _, s := range rest {
		list = append(list, string(s))
	}
	return list
}

// The schemas in the repository are those of the structs, and every golden event
// agrees with its schema.
func TestSchemas(t *testing.T) {
	t.Parallel()
	files := 0
	for _, def := range domain.Registry {
		newest := newestVersion(t, def.Type)
		files += newest
		t.Run(string(def.Type), func(t *testing.T) {
			t.Parallel()
			s, err := generateSchema(def)
			if err != nil {
				t.Fatal(err)
			}
			want, err := indented(s)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := os.ReadFile(schemaPath(def.Type, newest))
			if err != nil || !bytes.Equal(stored, want) {
				t.Fatalf("the stored schema is not that of the struct (%v): go test ./eventstore/codec -update writes it", err)
			}
			for version := 1; version <= newest; version++ {
				schema := compile(t, def.Type, version)
				if err := validate(schema, binary.read(t, def.Type, version).Data); err != nil {
					t.Error(err)
				}
				for _, bad := range []string{`{}`, `null`, `{"from":"nowhere","to":"nowhere"}`} {
					if validate(schema, []byte(bad)) == nil {
						t.Errorf("%s is valid", bad)
					}
				}
			}
		})
	}
	found, err := os.ReadDir(filepath.Join(docs, "schemas"))
	if err != nil || len(found) != files+1 { // and those of settings
		t.Errorf("%d schemas for %d versions of event types (%v)", len(found)-1, files, err)
	}
}

// Each kind of settings has a schema of its own, and the golden event of that kind
// agrees with it.
func TestSettingSchemas(t *testing.T) {
	t.Parallel()
	generation := map[domain.SettingKind]int{domain.HoldCollection: 3, domain.HoldQueue: 3, domain.SettingTimeouts: 4,
		domain.SettingDepositQueue: 6, domain.SettingUserLimit: 7, domain.SettingProcessor: 8, domain.SettingProfile: 11, domain.SettingDataset: 13, domain.SettingDiscovery: 14}
	for _, k := range domain.SettingKinds {
		s, err := settingSchema(k)
		if err != nil {
			t.Fatal(err)
		}
		want, err := indented(s)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := os.ReadFile(settingPath(k))
		if err != nil || !bytes.Equal(stored, want) {
			t.Errorf("%s: the stored schema is not that of the struct (%v): go test ./eventstore/codec -update writes it", k.Kind, err)
			continue
		}
		schema := compileFile(t, settingPath(k), string(s.ID))
		golden, err := binary.load(domain.EventSettingChanged, 1, generation[k.Kind])
		if err != nil {
			t.Fatal(err)
		}
		event := bytes.Replace(golden.Data, []byte(`"kind":"collection"`), []byte(`"kind":"`+string(k.Kind)+`"`), 1)
		if err := validate(schema, event); err != nil {
			t.Errorf("%s: %v", k.Kind, err)
		}
		if validate(schema, bytes.Replace(event, []byte(`"value":{"`+k.Value+`"`), []byte(`"value":{"other"`), 1)) == nil {
			t.Errorf("%s: a value of another kind is valid", k.Kind)
		}
		if validate(schema, bytes.Replace(event, []byte(`"kind":"`+string(k.Kind)), []byte(`"kind":"weather`), 1)) == nil {
			t.Errorf("%s: another kind is valid", k.Kind)
		}
	}
	found, err := os.ReadDir(filepath.Dir(settingPath(domain.SettingKinds[0])))
	if err != nil || len(found) != len(domain.SettingKinds) {
		t.Errorf("%d schemas for %d kinds of settings (%v)", len(found), len(domain.SettingKinds), err)
	}
}

// An event that lacks what its struct requires, or has it in another form, is not
// valid; one with a field more is.
func TestSchemasAreStrict(t *testing.T) {
	t.Parallel()
	schema := compile(t, domain.EventJobProcessed, 1)
	good := string(binary.read(t, domain.EventJobProcessed, 1).Data)
	if err := validate(schema, []byte(strings.Replace(good, "{", `{"added_later":1,`, 1))); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{
		"other state":   strings.Replace(good, `"from":"processing"`, `"from":"pending"`, 1),
		"no object":     strings.Replace(good, `"object"`, `"subject"`, 1),
		"text for size": strings.Replace(good, `"bytes":12345`, `"bytes":"12345"`, 1),
		"other class":   strings.Replace(good, `"class":"content"`, `"class":"weather"`, 1),
	} {
		if bad == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if validate(schema, []byte(bad)) == nil {
			t.Errorf("%s: %s is valid", name, bad)
		}
	}
}

func compile(t *testing.T, name domain.EventType, version int) *validator.Schema {
	t.Helper()
	return compileFile(t, schemaPath(name, version), codec.SchemaID(name, version))
}

func compileFile(t *testing.T, path, id string) *validator.Schema {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := validator.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	c.DefaultDraft(validator.Draft2020)
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(s *validator.Schema, data []byte) error {
	v, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(v)
}
