package repocheck

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// tree makes a file system of Go files: each file's imports, one a line, in the
// package clause of its folder, followed by its body.
func tree(name, imports, body string) fstest.MapFS {
	var text strings.Builder
	text.WriteString("package p\n")
	for line := range strings.Lines(imports) {
		if path := strings.TrimSpace(line); path != "" {
			text.WriteString("import " + path + "\n")
		}
	}
	text.WriteString(body)
	return fstest.MapFS{name: {Data: []byte(text.String())}}
}

func quoted(path string) string { return `"` + path + `"` }

func own(path string) string { return quoted(Module + "/" + path) }

// one runs a check and compares its single finding, or its silence.
func one(t *testing.T, check func(fs.FS) ([]Finding, error), root fs.FS, want string) {
	t.Helper()
	found, err := check(root)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case want == "" && len(found) > 0:
		t.Errorf("refused: %v", found)
	case want != "" && (len(found) != 1 || !strings.Contains(found[0].String(), want)):
		t.Errorf("found %v, want one with %q", found, want)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, imports, want string }{
		{"domain/batch.go", own("eventstore"), "domain/batch.go:2: domain imports eventstore"},
		{"domain/batch.go", own("domain/schedule"), ""},
		{"domain/batch.go", own("internal/crash"), "imports internal/crash"},
		{"domain/batch.go", quoted("github.com/google/uuid"), "imports github.com/google/uuid"},
		{"domain/name.go", quoted("golang.org/x/text/unicode/norm"), ""},
		{"domain/batch_test.go", quoted("pgregory.net/rapid"), ""},
		{"domain/batch.go", quoted("pgregory.net/rapid"), "imports pgregory.net/rapid"},

		{"eventstore/store.go", own("domain"), ""},
		{"eventstore/store.go", own("eventstore/zklive"), "imports eventstore/zklive"},
		{"eventstore/store.go", own("projections"), "imports projections"},
		{"eventstore/store.go", quoted("github.com/nats-io/nats.go/jetstream"), "which only eventstore/jslog"},
		{"eventstore/suite_test.go", own("eventstore/zklive"), ""},
		{"eventstore/zklive/claim.go", own("eventstore") + "\n" + quoted("github.com/go-zookeeper/zk"), ""},
		{"eventstore/zklive/claim.go", own("eventstore/jslog"), "imports eventstore/jslog"},
		{"eventstore/zklive/claim.go", quoted("github.com/jackc/pgx/v5"), "imports github.com/jackc/pgx/v5"},
		{"eventstore/jslog/log.go", quoted("github.com/go-zookeeper/zk"), "imports github.com/go-zookeeper/zk"},
		{"eventstore/zklive/claim.go", own("internal/crash"), ""},
		{"eventstore/zklive/claim.go", own("eventstore/storetest"), "imports eventstore/storetest"},
		{"eventstore/zklive/claim_test.go", own("eventstore/storetest"), ""},

		{"projections/jobs.go", own("eventstore"), "imports eventstore"},
		{"projections/jobs.go", own("migrations") + "\n" + own("projections/internal/pgdb") + "\n" + quoted("github.com/jackc/pgx/v5/pgxpool"), ""},

		{"cmd/internal/fetch/get.go", own("cmd/internal/store"), "imports cmd/internal/store"},
		{"cmd/internal/fetch/get.go", own("eventstore"), "imports eventstore"},
		{"cmd/internal/record/minted.go", own("cmd/internal/record/internal/pgdb"), ""},
		{"cmd/internal/daemon/job_pending.go", own("eventstore") + "\n" + own("cmd/internal/fetch"), ""},
		{"cmd/internal/daemon/job_pending.go", own("eventstore/zklive"), "imports eventstore/zklive"},
		{"cmd/internal/daemon/job_pending.go", quoted("github.com/go-zookeeper/zk"), "which only eventstore/zklive"},
		{"cmd/internal/cli/submit.go", own("cmd/internal/daemon"), "imports cmd/internal/daemon"},
		{"cmd/internal/run/run.go", own("eventstore/memory"), "imports eventstore/memory"},
		{"cmd/internal/wire/open.go", own("eventstore/zklive") + "\n" + own("cmd/internal/daemon"), ""},

		{"cmd/internal/surprise/a.go", own("domain"), "stands in no layer"},
		{"projections/jobs.go", quoted("example.com/orm"), "has no row in repocheck/libraries.go"},
	} {
		t.Run(c.file+" "+c.imports, func(t *testing.T) {
			t.Parallel()
			one(t, CheckImports, tree(c.file, c.imports, ""), c.want)
		})
	}
}

func TestImportsBehindBuildTags(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{"domain/batch.go": {Data: []byte("//go:build never\n\npackage domain\n\nimport " + own("eventstore") + "\n")}}
	one(t, CheckImports, root, "domain/batch.go:5")
}

func TestPurity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, imports, body, want string }{
		{"domain/a.go", `"context"`, "", "imports context"},
		{"domain/a.go", `"net/http"`, "", "imports net/http"},
		{"domain/a.go", `"math/rand/v2"`, "", "imports math/rand/v2"},
		{"domain/a.go", `"os"`, "", "imports os"},
		{"domain/a_test.go", `"os"`, "", ""},
		{"domain/a.go", `"time"`, "func f() time.Duration { return time.Second }", ""},
		{"domain/a.go", `"time"`, "func f() { time.Now() }", "calls time.Now"},
		{"domain/a.go", `clock "time"`, "var now = clock.Now", "calls time.Now"},
		{"domain/a.go", `"fmt"`, "func f() { fmt.Println() }", "calls fmt.Println"},
		{"domain/a.go", "", "func f() { go f() }", "starts no goroutine"},
		{"eventstore/zklive/internal/layout/a.go", `"encoding/json"`, "", ""},
		{"eventstore/zklive/internal/layout/a.go", `"github.com/go-zookeeper/zk"`, "", "imports github.com/go-zookeeper/zk"},
		{"eventstore/zklive/internal/layout/a.go", `"context"`, "", "imports context"},
		{"domain/a.go", "", "func f(c chan int) {}", "has no channel"},
		{"domain/manifest/a.go", `"os"`, "", "imports os"},
		{"eventstore/a.go", `"time"`, "func f() { go f(); time.Now() }", ""},
	} {
		t.Run(c.file+" "+c.imports+c.body, func(t *testing.T) {
			t.Parallel()
			one(t, CheckPurity, tree(c.file, c.imports, c.body), c.want)
		})
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	one(t, CheckLayout, fstest.MapFS{"domain/a.go": {}, "bin/accession": {}, "cpu.prof": {}, "README.md": {}}, "")
	one(t, CheckLayout, fstest.MapFS{"pkg/a.go": {}}, "pkg: is not part of the layout")
	one(t, CheckLayout, fstest.MapFS{"notes.txt": {}}, "notes.txt: is not part of the layout")
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, text, want string }{
		{"sleeping test", "domain/a_test.go", "\ttime.Slee" + "p(time.Second)", "domain/a_test.go:1: a test waits on a signal"},
		{"sleeping program", "cmd/a.go", "\ttime.Slee" + "p(time.Second)", ""},
		{"skipping test", "domain/a_test.go", "\tt.Ski" + "p(\"no server\")", "it never skips"},
		{"skipping test at once", "domain/a_test.go", "\tt.Ski" + "pNow()", "it never skips"},
		{"unfinished", "domain/a.go", "// TO" + "DO: later", "finish it"},
		{"a user's home", "docs/a.md", "see /ho" + "me/anna/notes", "the path of one machine"},
		{"root's home", "deploy/a.sh", "cd /ro" + "ot/accession", "the path of one machine"},
		{"root's home in a decision", "DECISIONS.md", "cd /ro" + "ot/accession", "the path of one machine"},
		{"root's home in an image", "Dockerfile", "cd /ro" + "ot/accession", ""},
		{"an address", "docs/a.md", "https://example.org/home/", ""},
		{"binary", "docs/a.png", "\x00 /ho" + "me/anna/", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one(t, CheckText, fstest.MapFS{c.file: {Data: []byte(c.text)}}, c.want)
		})
	}
}

func TestLongFiles(t *testing.T) {
	t.Parallel()
	long := "package p\n" + strings.Repeat("var _ = 0\n", manyLines)
	one(t, LongFiles, fstest.MapFS{"domain/a.go": {Data: []byte(long)}}, "has 501 lines")
	one(t, LongFiles, fstest.MapFS{"domain/a.go": {Data: []byte("// Code generated by sqlc. DO NOT EDIT.\n" + long)}}, "")
}

func TestUnusedRows(t *testing.T) {
	t.Parallel()
	root := tree("domain/a.go", quoted("golang.org/x/text/unicode/norm"), "")
	root["go.mod"] = &fstest.MapFile{}
	found, err := CheckImports(root)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(found)
	for want, there := range map[string]bool{
		"names eventstore, which matches no package":                  true,
		"names domain/...":                                            false,
		"no package imports github.com/go-zookeeper/zk":               true,
		"cmd/internal/stack/... does not exist or does not import":    true,
		"does not exist or does not import golang.org/x/text/unicode": false,
	} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q is found: %v, want %v", want, !there, there)
		}
	}
}
