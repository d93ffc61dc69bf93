package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write sample.yaml anew")

// TestSample compares sample.yaml with what the fields of Config say of themselves.
func TestSample(t *testing.T) {
	t.Parallel()
	want := sample(t)
	if *update {
		if err := os.WriteFile("sample.yaml", []byte(want), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	if string(Sample) != want {
		t.Error("sample.yaml is not what config.go says: run `make generate`")
	}
}

// TestSampleHasTheDefaults: what the sample shows is what holds without it.
func TestSampleHasTheDefaults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "accession.yaml")
	text := regexp.MustCompile(`(?m)^#([a-z0-9_]+: \S.*)$`).ReplaceAllString(sample(t), "$1")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	want, err := Load(Sources{})
	if err != nil || !reflect.DeepEqual(got.Config, want.Config) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got.Config, want.Config)
	}
	for _, s := range settings {
		if origin := got.origins[s.key]; (s.preset != "") != (origin == "file "+file) {
			t.Errorf("%s is from %s", s.key, origin)
		}
	}
}

// sample returns a file that has every setting, its explanation and its default.
func sample(t *testing.T) string {
	t.Helper()
	names, about := explained(t)
	var b strings.Builder
	b.WriteString("# Every setting of Accession, with its default where it has one. What is not set holds its\n# default. A variable such as ACCESSION_NATS_STREAM, and --set, win over this file.\n")
	for i, s := range settings {
		if text := about[i]; text != "" {
			fmt.Fprintf(&b, "\n%s", named(text, names))
		}
		fmt.Fprintf(&b, "%s\n", strings.TrimRight("#"+s.key+": "+s.preset, " "))
	}
	return b.String()
}

// explained returns the keys of the fields of Config by their names, and the comment of each
// field as lines of YAML.
func explained(t *testing.T) (names map[string]string, about []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	names = map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Config" {
			return true
		}
		for i, f := range spec.Type.(*ast.StructType).Fields.List { //nolint:forcetypeassert // it is a struct
			names[f.Names[0].Name] = settings[i].key
			text := ""
			for line := range strings.Lines(f.Doc.Text()) {
				text += "# " + line
			}
			about = append(about, text)
		}
		return false
	})
	if len(about) != len(settings) {
		t.Fatalf("%d fields, %d settings", len(about), len(settings))
	}
	return names, about
}

// named replaces the names of fields by the keys of their settings.
func named(text string, names map[string]string) string {
	words := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return len(b) - len(a) })
	return regexp.MustCompile(`\b(`+strings.Join(words, "|")+`)\b`).ReplaceAllStringFunc(text, func(name string) string { return names[name] })
}
