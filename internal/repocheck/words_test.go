package repocheck

import (
	"testing"
	"testing/fstest"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, body, want string }{
		{"domain/a.go", "// F gives a name.\nfunc F() {}", "F says what it gives"},
		{"domain/a.go", "// f tells whether.\nfunc f() {}", "f says what it tells"},
		{"domain/a.go", "type T struct {\n\t// F tells whether.\n\tF int\n}", "F says what it tells"},
		{"domain/a.go", "// F returns what it is given, and gives nothing.\nfunc F() {}", ""},
		{"domain/a.go", "func f() {\n\t// somebody was faster\n}", `domain/a.go:3: a comment says "somebody"`},
		{"cmd/internal/cli/a.go", "const c = \"Let held jobs go on\"", `a message says "Let held jobs go on"`},
		{"domain/a.go", "const c = \"whoever asks\"", `a message says "whoever"`},
		{"domain/a.go", "// T is handed to the queue and comes back.\ntype T int", ""},
		{"domain/a.go", "// T hands the job back.\ntype T int", `says "hands the job back"`},
		{"domain/a.go", "type Picture int", "the name Picture has the word picture"},
		{"domain/a.go", "type t struct{ nodePictures int }", "the name nodePictures has the word picture"},
		{"domain/a.go", "func At() {}", ""},
		{"domain/a.go", "// T is the place of the event.\ntype T int", "say: sequence"},
		{"domain/a.go", "type T struct{ places int }", "the name places has the word place"},
		{"cmd/internal/daemon/limits/a.go", "type Slots int", "the name Slots has the word slot"},
		{"domain/a.go", "type Slots int", ""},
		{"domain/a.go", "type T struct{ Records, MetadataRecords int }", "the name Records has the word Records"},
		{"eventstore/zklive/a.go", "func unpark() {}; func parked() {}", ""},
		{"eventstore/zklive/a.go", "func park() {}", "has the word park"},
		{"eventstore/a.go", "type At struct{}", "use: Loaded"},
		{"eventstore/a.go", "func lookUp() {}; func lookup() {}", ""},
		{"eventstore/a.go", "func lookAt() {}", "has the word look"},
		{"eventstore/a_test.go", "type At struct{}", ""},
		{"eventstore/storetest/a.go", "type At struct{}", ""},
		{"eventstore/a.go", "func f(Order int) { Pair := 1 }", ""},
		{"eventstore/a.go", "func f() { _, logPlace := 1, 2 }", "the name logPlace has the word place"},
		{"eventstore/a.go", "func f() { for _, place := range t {} }", "the name place has the word place"},
		{"eventstore/a.go", "func (places t) f() {}", "has the word place"},
		{"eventstore/a.go", "func f() (place int) {}", "has the word place"},
		{"eventstore/a.go", "var f = func(place int) {}", "has the word place"},
		{"eventstore/a.go", "func f() { const place = 1 }", "has the word place"},
		{"eventstore/a.go", "type plan struct{}", "has the word plan"},
		{"projections/query/a.go", "func f() { plans := 1 }", ""},
	} {
		one(t, CheckWords, tree(c.file, "", c.body), c.want)
	}
	for name, want := range map[string]string{
		"migrations/record/a.sql": `migrations/record/a.sql:2: it says "Somebody"`, "queries/projection/a.sql": "it says", "deploy/prometheus/alerts.yaml": "it says",
		"deploy/ci/a.sh": "it says", "Makefile": "it says", "docs/a.md": "it says", "CHANGELOG.md": "", "cmd/a.txt": "",
	} {
		one(t, CheckWords, fstest.MapFS{name: &fstest.MapFile{Data: []byte("-- a line\n-- Somebody was faster.")}}, want)
	}
}
