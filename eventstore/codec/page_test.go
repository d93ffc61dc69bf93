package codec_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// The page about events has parts that are written from the program.
var (
	pagePath = filepath.Join(docs, "events.md")
	block    = regexp.MustCompile(`(?s)(<!-- begin (\w+) -->\n)(.*?)(<!-- end (\w+) -->)`)
)

var parts = map[string]func() (string, error){
	"message":    messagePart,
	"attributes": func() (string, error) { return described("attribute", attributes), nil },
	"headers":    func() (string, error) { return described("header", headers), nil },
	"example":    examplePart,
	"types":      typesPart,
}

// writePublished writes what is generated from the registry besides schemas.
func writePublished() error {
	doc, err := asyncAPI()
	if err != nil {
		return err
	}
	b, err := indented(doc)
	if err != nil {
		return err
	}
	if err := os.WriteFile(asyncAPIPath, b, 0o644); err != nil {
		return err
	}
	page, err := os.ReadFile(pagePath)
	if err != nil {
		return err
	}
	filled, err := fill(string(page))
	if err != nil {
		return err
	}
	return os.WriteFile(pagePath, []byte(filled), 0o644)
}

// fill replaces the generated parts of the page.
func fill(page string) (filled string, err error) {
	filled = block.ReplaceAllStringFunc(page, func(found string) string {
		m := block.FindStringSubmatch(found)
		write, ok := parts[m[2]]
		if !ok || m[2] != m[5] {
			err = fmt.Errorf("the part %s is not known, or is not closed", m[2])
			return found
		}
		text, e := write()
		if e != nil {
			err = e
		}
		return m[1] + text + m[4]
	})
	if n := len(block.FindAllString(page, -1)); n != len(parts) {
		return "", fmt.Errorf("the page has %d of %d written parts", n, len(parts))
	}
	return filled, err
}

// The page says what the program does.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if filled, err := fill(string(page)); err != nil || filled != string(page) {
		t.Errorf("docs/events.md is out of date (%v): go test ./eventstore/codec -update writes it", err)
	}
}

// messagePart shows one event.
func messagePart() (string, error) {
	m, err := structured.load(domain.EventJobDownloaded, 1, len(generations()))
	if err != nil {
		return "", err
	}
	var b, body strings.Builder
	var event object
	if err := json.Unmarshal(m.Data, &event); err != nil {
		return "", err
	}
	for i, a := range attributes { // one a line
		if text, ok := event[a.name]; ok {
			fmt.Fprintf(&body, "%s%q: %q", []string{"{\n  ", ",\n  "}[min(i, 1)], a.name, text)
		}
	}
	_, data, _ := strings.Cut(string(m.Data), `,"data":`)
	fmt.Fprintf(&b, "```\n%s.%s\n\n%s: %s\n\n%s,\n  \"data\": %s\n}\n```\n", codec.DefaultPrefix, m.Subject,
		codec.HeaderContentType, m.Header[codec.HeaderContentType][0], body.String(), strings.TrimSuffix(data, "}"))
	return b.String(), nil
}

func described(what string, list []field) string {
	var b strings.Builder
	b.WriteString("| " + what + " | always | meaning |\n|---|---|---|\n")
	for _, h := range list {
		always := "yes"
		if h.optional {
			always = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", h.name, always, h.doc)
	}
	return b.String()
}

// examplePart is the program that the tests of package follow run.
func examplePart() (string, error) {
	source, err := os.ReadFile(filepath.Join("..", "follow", "example_test.go"))
	if err != nil {
		return "", err
	}
	_, program, found := strings.Cut(string(source), "// Tally is")
	program, _, end := strings.Cut(program, "func Example()")
	if !found || !end {
		return "", fmt.Errorf("the example of package follow has another form")
	}
	return "```go\n// Tally is" + strings.TrimRight(program, "\n") + "\n```\n", nil
}

// typesPart lists every type with the fields of its data; those that all events of
// a kind have stand before.
func typesPart() (string, error) {
	var b strings.Builder
	for _, k := range kinds {
		var defs []domain.EventDef
		fields := map[domain.EventType][]string{}
		var common []string
		for _, def := range domain.Registry {
			if def.Kind != k.kind {
				continue
			}
			s, err := generateSchema(def)
			if err != nil {
				return "", err
			}
			fields[def.Type] = rows(s, "")
			if defs = append(defs, def); len(defs) == 1 {
				common = fields[def.Type]
			}
			common = slices.DeleteFunc(slices.Clone(common), func(row string) bool { return !slices.Contains(fields[def.Type], row) })
		}
		fmt.Fprintf(&b, "### %s\n\n%s Fields of all these events:\n\n%s\n", k.title, k.doc, table(common))
		for _, def := range defs {
			own := slices.DeleteFunc(fields[def.Type], func(row string) bool { return slices.Contains(common, row) })
			id := strings.Split(codec.NewestSchemaID(def.Type), ":")
			fmt.Fprintf(&b, "**`%s`** ([schema](schemas/%s.%s.schema.json)): %s%s\n\n", def.Type, def.Type, id[len(id)-1], def.Doc, way(def))
			if len(own) > 0 {
				fmt.Fprintf(&b, "%s\n", table(own))
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// way returns the states between which an event type leads.
func way(def domain.EventDef) string {
	from, to := moves(def)
	if len(from) == 0 || slices.Equal(from, to) {
		return ""
	}
	return fmt.Sprintf(" From %s to %s.", states(from), states(to))
}

func states(list []any) string {
	names := make([]string, len(list))
	for i, s := range list {
		if names[i] = code(s.(string)); s == "" {
			names[i] = "nothing"
		}
	}
	return strings.Join(names, ", ")
}

func code(s string) string { return "`" + s + "`" }

func table(rows []string) string {
	return "| field | form | meaning |\n|---|---|---|\n" + strings.Join(rows, "")
}

// rows returns a row for each field of a schema, those of objects with a dot.
func rows(s *jsonschema.Schema, prefix string) (list []string) {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		name, v := prefix+p.Key, p.Value
		form, doc := v.Type, v.Description
		optional := !slices.Contains(s.Required, p.Key)
		for v.Type == "array" && v.Items != nil {
			name, v = name+"[]", v.Items
			form = "list of " + v.Type
		}
		switch {
		case len(v.OneOf) > 0:
			form = v.OneOf[0].Type + " or null"
			if v.OneOf[0].Format != "" {
				form = v.OneOf[0].Format + " or null"
			}
			if items := v.OneOf[0].Items; items != nil {
				form = "list of " + items.Type + " or null"
			}
		case v.Properties != nil && v.Properties.Len() > 0:
			form = strings.TrimSuffix(form, "object") + "object"
		}
		if optional {
			form += ", optional"
		}
		list = append(list, "| "+code(name)+" | "+form+" | "+strings.ReplaceAll(doc, "|", `\|`)+" |\n")
		if v.Properties != nil {
			list = append(list, rows(v, name+".")...)
		}
	}
	return list
}
