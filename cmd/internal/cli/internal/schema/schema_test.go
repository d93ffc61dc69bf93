package schema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/accession-ingest/accession/docs"
)

// TestSchemasAreComplete: the schema of each command compiles by itself.
func TestSchemasAreComplete(t *testing.T) {
	t.Parallel()
	var whole struct {
		Defs map[string]struct {
			Anchor string `json:"$anchor"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(docs.OutputSchema, &whole); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for name, def := range whole.Defs {
		if def.Anchor == "" {
			continue
		}
		commands++
		text, err := of(name)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := jsonschema.NewCompiler()
		if err = c.AddResource("urn:test", schema); err == nil {
			_, err = c.Compile("urn:test")
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if commands < 50 {
		t.Errorf("only %d commands have schemas", commands)
	}
	for _, none := range []string{"nothing", "Outcomes"} {
		if _, err := of(none); err == nil || !strings.Contains(err.Error(), none) {
			t.Errorf("%s: %v", none, err)
		}
	}
}
