package schema

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/accession-ingest/accession/docs"
)

// named are the commands that carry out an operation of another name.
var named = map[string]string{
	"report.show": "report", "status.show": "status", "submission.create": "submit", "upload.create": "submit", "upload.synchronous": "submit", "upload.show": "drop show",
	"session.begin": "login", "session.end": "logout",
}

// without says why no command carries out an operation whose answer is JSON.
var without = map[string]string{
	"compute.claim":      "for workers of others",
	"compute.complete":   "for workers of others",
	"compute.fail":       "for workers of others",
	"compute.heartbeat":  "for workers of others",
	"compute.put":        "for workers of others",
	"form.object-ingest": "it answers as Merritt does",
	"form.object-update": "it answers as Merritt does",
	"form.poster-submit": "it answers as Merritt does",
	"form.poster-update": "it answers as Merritt does",
	"object.manifest":    "a file as it is stored",
	"self.show":          "who a session or key is of: a command knows it",
	"task.claim":         "for workers of others",
	"task.complete":      "for workers of others",
	"task.fail":          "for workers of others",
	"task.heartbeat":     "for workers of others",
	"task.put":           "for workers of others",
}

// otherwise says why a command writes another thing than what the service answers.
var otherwise = map[string]string{
	"audit.report":  "the names of a report's columns are its own",
	"query.answer":  "the names of a report's columns are its own",
	"query.report":  "the names of a report's columns are its own",
	"report.show":   "the names of a report's columns are its own",
	"session.begin": "the command keeps the secret of the session, and shows whose it is and where",
	"session.end":   "as with session.begin",
}

// list is a list of things.
type list struct{ Of any }

// reader reads the schemas of one document.
type reader struct {
	defs map[string]any
	at   string // the prefix of references
	open []string
}

// shape returns the names in a schema with what they hold, the same whatever the schemas that
// it refers to are called. A name that may be absent ends with ?.
func (r *reader) shape(v any) any {
	s, _ := v.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		name, _ := strings.CutPrefix(ref, r.at)
		if slices.Contains(r.open, name) {
			return "as above"
		}
		r.open = append(r.open, name)
		defer func() { r.open = r.open[:len(r.open)-1] }()
		return r.shape(r.defs[name])
	}
	if forms, ok := s["anyOf"].([]any); ok {
		var all []any
		for _, f := range forms {
			all = append(all, r.shape(f))
		}
		if len(all) == 1 {
			return all[0]
		}
		return all
	}
	if items, ok := s["items"]; ok {
		return list{r.shape(items)}
	}
	members := map[string]any{}
	if of, ok := s["additionalProperties"].(map[string]any); ok {
		members["*"] = r.shape(of)
	}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for name, of := range properties {
		if !slices.Contains(required, any(name)) {
			name += "?"
		}
		members[name] = r.shape(of)
	}
	if len(members) > 0 {
		return members
	}
	kind, format := s["type"], s["format"]
	if several, ok := kind.([]any); ok {
		kind = several[0] // and null
	}
	return map[string]any{"type": kind, "format": format}
}

// openAPI returns the description of the service.
func openAPI(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// languages returns the shapes of what commands write and of what operations answer; the
// problem is "error" in both.
func languages(t *testing.T) (commands map[string][]any, answers map[string]any) {
	t.Helper()
	var written struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(docs.OutputSchema, &written); err != nil {
		t.Fatal(err)
	}
	commands, answers = map[string][]any{}, map[string]any{}
	here := &reader{defs: written.Defs, at: defs}
	for name, v := range written.Defs {
		if def := v.(map[string]any); def["$anchor"] != nil {
			for _, form := range def["anyOf"].([]any) {
				commands[name] = append(commands[name], here.shape(form))
			}
		}
	}
	var described struct {
		Paths map[string]map[string]struct {
			ID        string `yaml:"operationId"`
			Responses map[string]struct {
				Content map[string]struct{ Schema any }
			}
		}
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal(openAPI(t), &described); err != nil {
		t.Fatal(err)
	}
	there := &reader{defs: described.Components.Schemas, at: "#/components/schemas/"}
	answers["error"] = there.shape(described.Components.Schemas["Problem"])
	for _, methods := range described.Paths {
		for _, op := range methods {
			for status, response := range op.Responses {
				if content, ok := response.Content["application/json"]; ok && strings.HasPrefix(status, "2") {
					answers[op.ID] = there.shape(content.Schema)
				}
			}
		}
	}
	return commands, answers
}

// same reports whether what a command writes is what the service answers, or a list of it where
// the command takes several things. An item may also be the problem with one of them.
func same(form, answer, failure any) bool {
	if cmp.Equal(form, answer) {
		return true
	}
	page, _ := form.(map[string]any)
	items, ok := page["items"].(list)
	if !ok {
		return false
	}
	refused := map[string]any{"id": map[string]any{"type": "string", "format": nil}, "error": failure}
	return cmp.Equal(items.Of, answer) || cmp.Equal(items.Of, []any{answer, refused})
}

// TestOneLanguage compares what each command writes with -o json with what the service answers
// to the operation that the command carries out: the same names with the same values in them,
// and the same problem if it failed. The end-to-end tests compare both documents with what is
// written and answered.
func TestOneLanguage(t *testing.T) {
	t.Parallel()
	commands, answers := languages(t)
	failure := answers["error"]
	if members, ok := failure.(map[string]any); !ok || members["detail"] == nil {
		t.Fatalf("the problem is %v", failure)
	}
	seen := map[string]bool{}
	for op, answer := range answers {
		command, ok := named[op]
		if !ok {
			command = strings.ReplaceAll(op, ".", " ")
		}
		forms := commands[command]
		isSame := slices.ContainsFunc(forms, func(form any) bool { return same(form, answer, failure) })
		seen[op] = true
		switch {
		case without[op] != "":
			if forms != nil {
				t.Errorf("%s: a command carries it out: take it out of the table", op)
			}
		case forms == nil:
			t.Errorf("%s: no command %q: carry it out, or say why not in a table", op, command)
		case otherwise[op] != "":
			if isSame {
				t.Errorf("%s: the command writes the same: take it out of the table", op)
			}
		case !isSame:
			t.Errorf("%s: `accession %s -o json` writes another thing than the service answers:\n%s", op, command, cmp.Diff(answer, forms[0]))
		}
	}
	for _, table := range []map[string]string{named, without, otherwise} {
		for op := range maps.Keys(table) {
			if !seen[op] {
				t.Errorf("there is no operation %s that answers with JSON", op)
			}
		}
	}
	if len(answers) < 100 {
		t.Errorf("only %d operations answer with JSON", len(answers))
	}
}

// word is what a name in JSON looks like.
var word = regexp.MustCompile(`^([a-z][a-z0-9_]*[?]?|\*)$`)

// TestNamesInJSON: names are written alike, and no list stands alone: it is items of a page.
func TestNamesInJSON(t *testing.T) {
	t.Parallel()
	commands, answers := languages(t)
	var check func(of string, v any)
	check = func(of string, v any) {
		switch v := v.(type) {
		case list:
			check(of, v.Of)
		case []any:
			for _, each := range v {
				check(of, each)
			}
		case map[string]any:
			for name, each := range v {
				if !word.MatchString(name) {
					t.Errorf("%s has the name %q: write small letters, digits and underscores", of, name)
				}
				check(of, each)
			}
		}
	}
	alone := func(of string, v any) {
		if _, is := v.(list); is {
			t.Errorf("%s is a list that stands alone: write a page, with items", of)
		}
		check(of, v)
	}
	for name, forms := range commands {
		for _, form := range forms {
			alone("accession "+name, form)
		}
	}
	for op, answer := range answers {
		alone(op, answer)
	}
}

// noThings says of lists why their items have no id.
var noThings = map[string]string{
	"job.failures":              "a group has none: its code, server, collection and profile choose its jobs",
	"accession job failures":    "a group has none: its code, server, collection and profile choose its jobs",
	"batch.callbacks":           "a callback has none: it is the one about its job",
	"accession batch callbacks": "a callback has none: it is the one about its job",
	"batch.retries":             "a failed attempt has none: its job and its number within the job name it",
	"accession batch retries":   "a failed attempt has none: its job and its number within the job name it",
	"accession file history":    "an item is a change of a file: version counts those of one file",
}

// statesByName are the answers that name states of the workflow, and are not in one.
var statesByName = []string{"status batches", "status queues", "status unserved", "profile outside", "profile show outside"}

// TestThingsHaveAnIDAndAStatus: each item of a list has its id as id, and the state that a
// thing is in is its status in every answer, also where state was the word.
func TestThingsHaveAnIDAndAStatus(t *testing.T) {
	t.Parallel()
	commands, answers := languages(t)
	lists, found := 0, map[string]bool{}
	var check func(of string, v any)
	check = func(of string, v any) {
		switch v := v.(type) {
		case list:
			check(of, v.Of)
		case []any:
			for _, each := range v {
				check(of, each)
			}
		case map[string]any:
			_, state := v["state"]
			if _, status := v["status"]; state && !status && !strings.HasSuffix(of, " filter") { // which chooses by status
				if found[of] = true; !slices.Contains(statesByName, of) {
					t.Errorf("%s has a state and no status", of)
				}
			}
			for name, each := range v {
				check(strings.TrimPrefix(of, "accession ")+" "+strings.TrimSuffix(name, "?"), each)
			}
		}
	}
	items := func(of string, form any) {
		page, _ := form.(map[string]any)
		check(strings.Replace(of, ".show", "", 1), form)
		all, ok := page["items"].(list)
		if !ok {
			return
		}
		lists++
		forms, several := all.Of.([]any)
		if !several {
			forms = []any{all.Of}
		}
		for _, each := range forms {
			item, _ := each.(map[string]any)
			if found[of] = found[of] || item["id"] == nil; (item["id"] == nil) != (noThings[of] != "") {
				t.Errorf("an item of %s has an id that is always there: %t; why not: %q", of, item["id"] != nil, noThings[of])
			}
		}
	}
	for name, forms := range commands {
		for _, form := range forms {
			items("accession "+name, form)
		}
	}
	for op, answer := range answers {
		items(op, answer)
	}
	for _, of := range append(slices.Collect(maps.Keys(noThings)), statesByName...) {
		if !found[of] {
			t.Errorf("%s is no exception any more", of)
		}
	}
	if lists < 60 {
		t.Errorf("only %d lists", lists)
	}
}

// TestWordsThatAreLeftAreMarked: where status was called state, that word is there too, and
// both documents mark it as deprecated.
func TestWordsThatAreLeftAreMarked(t *testing.T) {
	t.Parallel()
	for page, text := range map[string][]byte{"output.schema.json": docs.OutputSchema, "openapi.yaml": openAPI(t)} {
		var all map[string]any
		if err := yaml.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		schemas, _ := all["$defs"].(map[string]any)
		if schemas == nil {
			schemas = all["components"].(map[string]any)["schemas"].(map[string]any)
		}
		both := 0
		for name, v := range schemas {
			properties, _ := v.(map[string]any)["properties"].(map[string]any)
			state, _ := properties["state"].(map[string]any)
			if state == nil || properties["status"] == nil {
				continue
			}
			if both++; state["deprecated"] != true {
				t.Errorf("%s: the state of %s is not marked as deprecated", page, name)
			}
		}
		if both < 6 {
			t.Errorf("%s has a state beside the status in only %d schemas", page, both)
		}
	}
}
