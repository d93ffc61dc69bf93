// Package schema has the command schema: JSON Schemas of what commands write with -o json.
package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/docs"
)

// defs is what the prefix of a reference to a definition is.
const defs = "#/$defs/"

// Command returns the command schema. anywhere makes the work of a command that needs no
// server.
func Command(out io.Writer, anywhere func(do func(ctx context.Context, args []string) error) func(c *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [COMMAND]",
		Short: "Show the JSON Schema of what commands write with -o json",
		Long: `Show the JSON Schema (draft 2020-12) of what a command writes with -o json, complete in
itself; error is that of a command that fails. Without a command, show all of them: each
is in $defs under its name.`,
		Example: "  accession schema job show\n  accession schema error\n  accession schema > output.schema.json",
		RunE: anywhere(func(_ context.Context, args []string) error {
			if len(args) == 0 {
				_, err := out.Write(docs.OutputSchema)
				return err
			}
			text, err := of(strings.Join(args, " "))
			if err == nil {
				_, err = out.Write(text)
			}
			return err
		}),
	}
}

// of returns the schema of a command, with the definitions that it needs.
func of(name string) ([]byte, error) {
	var whole struct {
		Schema string         `json:"$schema"`
		Defs   map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(docs.OutputSchema, &whole); err != nil {
		return nil, fmt.Errorf("read the schemas: %w", err)
	}
	own, ok := whole.Defs[name].(map[string]any)
	if anchor, _ := own["$anchor"].(string); !ok || anchor == "" {
		return nil, &app.Error{Kind: app.NotFound, What: "show the schema of " + name, Err: fmt.Errorf("no command %q writes JSON", name),
			Hint: "`accession schema` shows those of all"}
	}
	needed := map[string]any{}
	need(own, whole.Defs, needed)
	schema := maps.Clone(own)
	delete(schema, "$anchor")
	schema["$schema"] = whole.Schema
	if len(needed) > 0 {
		schema["$defs"] = needed
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// need adds the definitions that a schema refers to, and those that they do.
func need(schema any, all, needed map[string]any) {
	switch s := schema.(type) {
	case map[string]any:
		if ref, ok := s["$ref"].(string); ok {
			name, _ := strings.CutPrefix(ref, defs)
			if def, there := all[name]; there && needed[name] == nil {
				needed[name] = def
				need(def, all, needed)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s)) {
			need(s[key], all, needed)
		}
	case []any:
		for _, item := range s {
			need(item, all, needed)
		}
	}
}
