package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/app/synchronous"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/login"
	manifestcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/manifests"
	profilecli "github.com/accession-ingest/accession/cmd/internal/cli/internal/profiles"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
)

const outputsPath = "../../../docs/output.schema.json"

type (
	// refused is the form of an outcome that is no answer.
	refused struct {
		ID    string          `json:"id"`
		Error problem.Problem `json:"error"`
	}
	// reported is a report, whose facts and columns are its own.
	reported struct {
		Report string                      `json:"report"`
		Title  string                      `json:"title"`
		Made   time.Time                   `json:"made"`
		At     *app.AsOf                   `json:"at,omitempty"`
		Facts  map[string]any              `json:"facts"`
		Tables map[string][]map[string]any `json:"tables"`
	}
)

// outputs are what commands write with -o json, where that is not the answer of the operation
// of the same name; several if it depends on the flags.
var outputs = map[string][]reflect.Type{
	"audit report":      {reflect.TypeFor[reported]()},
	"batch report":      {reflect.TypeFor[app.BatchReportView]()},
	"batch show":        {reflect.TypeFor[app.BatchView](), reflect.TypeFor[app.Progress]()},
	"bulk begin":        {reflect.TypeFor[bulk.Action]()},
	"compute retry":     {reflect.TypeFor[app.Changed]()},
	"config check":      {reflect.TypeFor[profilecli.Checked]()},
	"config print":      {reflect.TypeFor[app.Page[config.Row]]()},
	"dataset add":       {reflect.TypeFor[app.Changed]()},
	"dataset set":       {reflect.TypeFor[app.Changed]()},
	"discover add":      {reflect.TypeFor[app.Changed]()},
	"discover pause":    {reflect.TypeFor[app.Changed]()},
	"discover resume":   {reflect.TypeFor[app.Changed]()},
	"discover rm":       {reflect.TypeFor[app.Changed]()},
	"discover run":      {reflect.TypeFor[app.Changed]()},
	"slot add":          {reflect.TypeFor[app.Changed]()},
	"slot close":        {reflect.TypeFor[app.Changed]()},
	"slot open":         {reflect.TypeFor[app.Changed]()},
	"diff":              {reflect.TypeFor[tables.Diff]()},
	"drop show":         {reflect.TypeFor[drops.Shown]()},
	"events ls":         {reflect.TypeFor[app.Event]()},
	"events tail":       {reflect.TypeFor[app.Event]()},
	"file history":      {reflect.TypeFor[app.Page[app.FileTransition]]()},
	"login":             {reflect.TypeFor[login.Signed]()},
	"logout":            {reflect.TypeFor[login.Signed]()},
	"manifest check":    {reflect.TypeFor[manifestcli.Checked]()},
	"manifest make":     {reflect.TypeFor[manifestcli.Made]()},
	"migrate":           {reflect.TypeFor[tables.Migrated]()},
	"object export":     {reflect.TypeFor[objects.Exported]()},
	"poison ls":         {reflect.TypeFor[app.Page[tables.PoisonEvent]]()},
	"poison retry":      {reflect.TypeFor[app.Page[tables.PoisonRetried]]()},
	"poison show":       {reflect.TypeFor[tables.PoisonEvent]()},
	"processor show":    {reflect.TypeFor[app.Page[queues.Processor]]()},
	"profile check":     {reflect.TypeFor[profilecli.Checked](), reflect.TypeFor[profiles.Sound]()},
	"profile rm":        {reflect.TypeFor[app.Changed]()},
	"profile set":       {reflect.TypeFor[app.Changed]()},
	"query answer":      {reflect.TypeFor[reported]()},
	"query park":        {reflect.TypeFor[queues.Moved]()},
	"query report":      {reflect.TypeFor[reported]()},
	"query unpark":      {reflect.TypeFor[queues.Moved]()},
	"queue park":        {reflect.TypeFor[queues.Moved]()},
	"queue show":        {reflect.TypeFor[app.Page[queues.Shown]]()},
	"queue simulate":    {reflect.TypeFor[views.Simulation]()},
	"queue unpark":      {reflect.TypeFor[queues.Moved]()},
	"rebuild":           {reflect.TypeFor[tables.Rebuilt]()},
	"replay":            {reflect.TypeFor[app.Event](), reflect.TypeFor[app.Republished]()},
	"report":            {reflect.TypeFor[reported]()},
	"restore log":       {reflect.TypeFor[app.Restored]()},
	"restore zookeeper": {reflect.TypeFor[app.Restored]()},
	"schema":            {reflect.TypeFor[map[string]any]()},
	"stack":             {reflect.TypeFor[shownStack]()},
	"status":            {reflect.TypeFor[status.Status]()},
	"submit":            {reflect.TypeFor[app.Submitted](), reflect.TypeFor[app.Progress](), reflect.TypeFor[synchronous.Answer](), reflect.TypeFor[drop.Deposit](), reflect.TypeFor[drops.Shown]()},
	"sweep":             {reflect.TypeFor[sweep.Summary]()},
	"timeouts set":      {reflect.TypeFor[app.Changed]()},
	"verify":            {reflect.TypeFor[app.Verified]()},
	"version":           {reflect.TypeFor[map[string]string]()},
}

// silent are the commands that write no JSON: what they write is a log, the content of a file, or
// of the program that they run.
var silent = []string{"compute output", "compute worker", "config sample", "demo", "object get", "profile init", "serve", "stack exec"}

// outputsOf returns the types of what a command writes.
func outputsOf(command string) []reflect.Type {
	if types := outputs[command]; types != nil {
		return types
	}
	name := strings.ReplaceAll(command, " ", ".")
	for _, op := range operation.Table() {
		if op.Name != name || op.Sends != nil {
			continue
		}
		if op.Output == reflect.TypeFor[app.Changed]() { // of each of the things that are named
			return []reflect.Type{reflect.TypeFor[app.Page[outcome]]()}
		}
		return []reflect.Type{op.Output}
	}
	return nil
}

// TestOutputSchemas compares docs/output.schema.json with what every command writes with
// -o json. The end-to-end tests compare what is written with the page.
func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	r := huma.NewMapRegistry("#/$defs/", func(t reflect.Type, hint string) string {
		name := huma.DefaultSchemaNamer(t, hint)
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if p := path.Base(t.PkgPath()); t.Name() != "" && t.PkgPath() != "" && !slices.Contains([]string{"app", "pgdb", "problem", "status"}, p) {
			name = strings.ToUpper(p[:1]) + p[1:] + name
		}
		if generic, of, is := strings.Cut(t.Name(), "["); is { // lists of types of one name in two packages
			if p, _, _ := strings.Cut(path.Base(of), "."); p != "app" && p != "pgdb" {
				name = generic + strings.ToUpper(p[:1]) + p[1:] + strings.TrimPrefix(name, generic)
			}
		}
		return name
	})
	r.RegisterTypeAlias(reflect.TypeFor[domain.Time](), reflect.TypeFor[time.Time]())
	defs := map[string]any{}
	ref := func(of reflect.Type) any {
		if of == reflect.TypeFor[app.Page[outcome]]() {
			item := map[string]any{"anyOf": []any{r.Schema(reflect.TypeFor[app.Changed](), true, ""), r.Schema(reflect.TypeFor[refused](), true, "")}}
			defs["Outcomes"] = map[string]any{"type": "object", "properties": map[string]any{"items": map[string]any{"type": "array", "items": item}, "total": map[string]any{"type": "integer", "format": "int64"}},
				"required": []string{"items", "total"}}
			return map[string]any{"$ref": "#/$defs/Outcomes"}
		}
		return r.Schema(of, true, "")
	}
	used := 0
	for _, c := range all((&program{}).root()) {
		name := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "accession"), " ")
		if !c.Runnable() {
			continue
		}
		types := outputsOf(name)
		if outputs[name] != nil {
			used++
		}
		if quiet := slices.Contains(silent, name) || c.HasSubCommands() && types == nil; quiet != (types == nil) {
			t.Errorf("%s: say in outputs what it writes with -o json, or in silent that it writes none", name)
		}
		if types == nil {
			continue
		}
		var forms []any
		for _, of := range types {
			forms = append(forms, ref(of))
		}
		defs[name] = map[string]any{"$anchor": strings.ReplaceAll(name, " ", "-"), "title": "accession " + name + " -o json", "description": c.Short, "anyOf": forms}
	}
	if used != len(outputs) {
		t.Errorf("%d of %d rows of outputs are of commands", used, len(outputs))
	}
	defs["error"] = map[string]any{"$anchor": "error", "title": "what a command that fails writes to the error stream with -o json", "anyOf": []any{ref(reflect.TypeFor[problem.Problem]())}}
	for name, s := range r.Map() {
		defs[name] = open(t, s)
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:accession:output", "title": "What commands write with -o json",
		"description": "Each command has an anchor: urn:accession:output#job-show is what `accession job show -o json` writes. Events are one on a line. Further fields may come.",
		"$defs":       defs}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(outputsPath, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(outputsPath); err != nil || !bytes.Equal(is, got.Bytes()) {
		t.Errorf("%s is not what the commands write (%v): run `make generate`", outputsPath, err)
	}
}

// open returns a schema that does not refuse fields that it does not name: new ones may come.
func open(t *testing.T, s *huma.Schema) (v any) {
	t.Helper()
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["additionalProperties"] == false {
				delete(v, "additionalProperties")
			}
			for _, each := range v {
				walk(each)
			}
		case []any:
			for _, each := range v {
				walk(each)
			}
		}
	}
	walk(v)
	return v
}
