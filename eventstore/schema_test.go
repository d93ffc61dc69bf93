package eventstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func schemaPath(t domain.EventType) string {
	return filepath.Join("testdata", "schemas", string(t)+".v1.schema.json")
}

// generateSchema makes the JSON Schema (2020-12) of an event type's data from
// its Go struct and the workflow tables.
func generateSchema(def domain.EventDef) ([]byte, error) {
	r := jsonschema.Reflector{DoNotReference: true, ExpandedStruct: true, Anonymous: true, Mapper: schemaOfType}
	s := r.Reflect(def.New())
	s.ID = jsonschema.ID(eventstore.SchemaID(def.Type, 1))
	s.Title, s.Description = string(def.Type), def.Doc
	from, to := moves(def)
	setEnum(s, "from", from)
	setEnum(s, "to", to)
	return indented(s)
}

// schemaOfType gives the types whose JSON is not what their Go kind says.
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

// moves gives the states that an event type may lead from and to: those of its
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
	if len(from) > 0 {
		return from, to
	}
	switch def.Kind {
	case domain.KindBatch:
		from = values(domain.BatchStates[0], domain.BatchStates[1:])
	case domain.KindJob:
		from = values(domain.JobStates[0], domain.JobStates[1:])
	case domain.KindSetting:
		from = []any{"open", "held"}
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
	for _, def := range domain.Registry {
		t.Run(string(def.Type), func(t *testing.T) {
			t.Parallel()
			want, err := generateSchema(def)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := os.ReadFile(schemaPath(def.Type))
			if err != nil || !bytes.Equal(stored, want) {
				t.Fatalf("the stored schema is not that of the struct (%v): go test ./eventstore -update writes it", err)
			}
			schema := compile(t, def.Type)
			if err := validate(schema, readGolden(t, def.Type).Data); err != nil {
				t.Error(err)
			}
			for _, bad := range []string{`{}`, `null`, `{"from":"nowhere","to":"nowhere"}`} {
				if validate(schema, []byte(bad)) == nil {
					t.Errorf("%s is valid", bad)
				}
			}
		})
	}
	files, err := os.ReadDir(filepath.Join("testdata", "schemas"))
	if err != nil || len(files) > len(domain.Registry) {
		t.Errorf("%d schemas for %d event types (%v)", len(files), len(domain.Registry), err)
	}
}

// An event that lacks what its struct requires, or has what it does not know, is
// not valid.
func TestSchemasAreStrict(t *testing.T) {
	t.Parallel()
	schema := compile(t, domain.EventJobProcessed)
	good := string(readGolden(t, domain.EventJobProcessed).Data)
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

func compile(t *testing.T, name domain.EventType) *validator.Schema {
	t.Helper()
	f, err := os.Open(schemaPath(name))
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
	id := eventstore.SchemaID(name, 1)
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
