package repocheck

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// The steps of tourTree.
const (
	submitStep = "1. `cmd/submit.go` `Submit` reads the command line.\n"
	batchStep  = "2. `eventstore/handler.go` `(*Handler).Batch` writes.\n"
	commitStep = "3. `eventstore/zk/store.go` `(*committer).Commit`\n"
)

func TestTour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tour, want string }{
		{"chain", submitStep + batchStep + "\nIt does.\n\n" + commitStep, ""},
		{"no such function", submitStep + "2. `eventstore/handler.go` `(Handler).Batch`\n", "there is no (Handler).Batch in eventstore/handler.go"},
		{"no such file", submitStep + "2. `eventstore/nowhere.go` `decide`\n", "there is no decide in eventstore/nowhere.go"},
		{"called by an earlier step only", submitStep + "2. `cmd/submit.go` `check`\n3. `eventstore/handler.go` `(*Handler).Batch`\n", "docs/tour.md:3: check does not call (*Handler).Batch"},
		{"indented", submitStep + "   - `cmd/submit.go` `check`\n" + batchStep + "   - `eventstore/handler.go` `decide`\n" + commitStep, ""},
		{"indented below the wrong step", submitStep + batchStep + "   - `cmd/submit.go` `check`\n", "(*Handler).Batch does not call check"},
		{"indented twice", submitStep + "   - `cmd/submit.go` `check`\n     - `cmd/submit.go` `deep`\n" + batchStep, ""},
		{"indented too far", submitStep + "   - `cmd/submit.go` `check`\n     - `eventstore/handler.go` `(*Handler).Batch`\n", "check does not call"},
		{"indented below nothing", "   - `cmd/submit.go` `check`\n   - `cmd/submit.go` `deep`\n", "deep stands below no step"},
		{"in a function literal", submitStep + "   - `cmd/submit.go` `inLiteral`\n", ""},
		{"passed on, not called", submitStep + "   - `cmd/submit.go` `passed`\n", "Submit does not call passed"},
		{"another of the same name", submitStep + "   - `eventstore/zk/store.go` `check`\n", "Submit does not call check"},
		{"another implementation of the interface", submitStep + batchStep + "3. `eventstore/zk/store.go` `(reader).Commit`\n", "(*Handler).Batch does not call (reader).Commit"},
		{"the interface has another method", submitStep + batchStep + "3. `eventstore/zk/store.go` `(*committer).check`\n", "does not call (*committer).check"},
		{"arrow", submitStep + "2. ↳ From the outbox: `eventstore/handler.go` `decide`\n3. `eventstore/handler.go` `generic`\n", ""},
		{"arrow from nowhere", submitStep + "2. ↳ `eventstore/handler.go` `decide`\n", "say between ↳ and decide"},
		{"the chain ends at an arrow", submitStep + "2. ↳ From the log: `eventstore/handler.go` `decide`\n3. `cmd/submit.go` `check`\n", "decide does not call check"},
		{"numbers", submitStep + "3. `eventstore/handler.go` `(*Handler).Batch`\n", "is step 2, not 3"},
		{"too long", submitStep + "2. ↳ From nowhere: `domain/long.go` `long`\n", "have 1509 lines in 2 files"},
		{"named beside a step", submitStep + "\nThen `zk/store.go` with `(*Store).Read`, in `eventstore/zk`, by `go test ./...`.\n", ""},
		{"a file that is not there", "1. `cmd/submit.go` `Submit` asks `zk/nowhere.go`.\n", "docs/tour.md:1: its text names zk/nowhere.go, which does not exist"},
		{"a folder that is not there", submitStep + "Then `eventstore/nowhere`.\n", "its text names eventstore/nowhere, which does not exist"},
		{"a method that is not there", submitStep + "Then `(*Store).Write`.\n", "its text names (*Store).Write, which does not exist"},
		{"no step", "Nothing.\n- `go test` runs.\n", "has no step"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one(t, CheckTour, tourTree(c.tour), c.want)
		})
	}
	many := tourTree("")
	var tour strings.Builder
	for i := range tourFiles + 1 {
		many[fmt.Sprintf("domain/f%d.go", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "package domain\nfunc f%d() { f%d() }\n", i, i+1)}
		fmt.Fprintf(&tour, "%d. `domain/f%d.go` `f%d`\n", i+1, i, i)
	}
	many["domain/last.go"] = &fstest.MapFile{Data: fmt.Appendf(nil, "package domain\nfunc f%d() {}\n", tourFiles+1)}
	many[tourPage] = &fstest.MapFile{Data: []byte(tour.String())}
	one(t, CheckTour, many, "in 11 files")
}

// TestTourBreaks takes each call of a chain away in turn.
func TestTourBreaks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, call, want string }{
		{"cmd/submit.go", "h.Batch()", "Submit does not call (*Handler).Batch"},
		{"eventstore/handler.go", "h.Live.Commit(1)", "(*Handler).Batch does not call (*committer).Commit"},
		// The store does not embed the committer any more.
		{"eventstore/zk/store.go", "\t*committer\n", "(*Handler).Batch does not call (*committer).Commit"},
	} {
		broken := tourTree(submitStep + batchStep + commitStep)
		text := string(broken[c.file].Data)
		if !strings.Contains(text, c.call) {
			t.Fatalf("%s has no %q", c.file, c.call)
		}
		broken[c.file] = &fstest.MapFile{Data: []byte(strings.Replace(text, c.call, "", 1))}
		one(t, CheckTour, broken, c.want)
	}
}

func tourTree(tour string) fstest.MapFS {
	return fstest.MapFS{
		tourPage: {Data: []byte(tour)},
		"cmd/submit.go": {Data: []byte(`package cmd

import (
	"sync"

	"` + Module + `/eventstore"
)

func Submit(h *eventstore.Handler[int]) {
	check()
	h.Batch()
	var once sync.Once
	once.Do(func() { inLiteral() })
	once.Do(passed)
}

func check() { deep() }
func deep() {}
func inLiteral() {}
func passed() {}
`)},
		"eventstore/handler.go": {Data: []byte(`package eventstore

type Live interface {
	Read() int
	Commit(changes ...int) error
}

type Handler[S any] struct{ Live Live }

func (h *Handler[S]) Batch() {
	decide()
	h.Live.Commit(1)
}

func decide() { generic(1) }

func generic[T any](T) {}
`)},
		"eventstore/zk/store.go": {Data: []byte(`package zk

// Store implements eventstore.Live.
type Store struct {
	*committer
	reader int
}

func (s *Store) Read() int { return s.reader }

type committer struct{}

func (c *committer) Commit(changes ...int) error { return c.check() }
func (c *committer) check() error { return nil }

// reader has the method, but lacks the other one.
type reader struct{}

func (reader) Commit(changes ...int) error { return nil }

func check() {}
`)},
		"eventstore/zk/other.go": {Data: []byte("//go:build other\n\npackage zk\n\ntype Store struct{}\n")},
		"domain/long.go":         {Data: []byte("package domain\nfunc long() {\n" + strings.Repeat("\tlong()\n", tourLines) + "}\n")},
	}
}
