package repocheck

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTour(t *testing.T) {
	t.Parallel()
	const submit = "1. `cmd/submit.go` `Submit` reads the command line.\n"
	for _, c := range []struct{ tour, want string }{
		{submit + "2. `eventstore/handler.go` `(*Handler[S]).Batch` decides.\n", "there is no (*Handler[S]).Batch"},
		{submit + "2. `eventstore/handler.go` `(*Handler).Batch` decides.\n\nIt does.\n\n3. `eventstore/handler.go` `decide`\n", ""},
		{submit + "2. `eventstore/handler.go` `decide` decides.\n", "docs/tour.md:2: no step before it calls decide"},
		{submit + "2. `eventstore/handler.go` `(*Handler).Batch`\n3. `cmd/submit.go` `check`\n", ""},
		{submit + "- ↳ `eventstore/handler.go` `decide`\n", ""},
		{submit + "2. ↳ `eventstore/handler.go` `decide`\n3. `cmd/submit.go` `check`\n", "no step before it calls check"},
		{submit + "2. `eventstore/nowhere.go` `decide`\n", "there is no decide in eventstore/nowhere.go"},
		{submit + "2. ↳ `domain/long.go` `long`\n", "have 1503 lines in 2 files"},
		{"Nothing.\n- `go test` runs.\n", "has no step"},
	} {
		one(t, CheckTour, tourTree(c.tour), c.want)
	}
	many := tourTree("")
	var tour strings.Builder
	for i := range tourFiles + 1 {
		name := fmt.Sprintf("domain/f%d.go", i)
		many[name] = &fstest.MapFile{Data: []byte("package domain\nfunc f() { f() }\n")}
		fmt.Fprintf(&tour, "%d. `%s` `f`\n", i, name)
	}
	many[tourPage] = &fstest.MapFile{Data: []byte(tour.String())}
	one(t, CheckTour, many, "in 11 files")
	one(t, CheckTour, fstest.MapFS{}, "has no tour.md")
}

func tourTree(tour string) fstest.MapFS {
	return fstest.MapFS{
		tourPage:                {Data: []byte(tour)},
		"cmd/submit.go":         {Data: []byte("package cmd\nfunc Submit() { check(); h.Batch() }\nfunc check() {}\n")},
		"eventstore/handler.go": {Data: []byte("package eventstore\nfunc (h *Handler[S]) Batch() { each(decide) }\nfunc decide() {}\n")},
		"domain/long.go":        {Data: []byte("package domain\nfunc long() {\n" + strings.Repeat("\tlong()\n", tourLines) + "}\n")},
	}
}
