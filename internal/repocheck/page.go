package repocheck

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// allPoints is the test that kills a process right after operations, a share of them a run, and at each crash
// point of the crash matrix.
var allPoints = Shown{"cmd/accession/e2e", "TestDeathAtOperations"}

// ChecksPage returns docs/checks.md: promises, faults that were found, crash matrix, crash points, and the table
// of mutants that it is given.
func ChecksPage(root fs.FS, mutants string) (string, error) {
	shown, err := showsAll(root)
	if err != nil {
		return "", err
	}
	points, err := pointsTable(root)
	if err != nil {
		return "", err
	}
	return "# What the tests check\n\n" +
		"`make generate` writes this page from tables of `internal/repocheck` and from the tests.\n" +
		"[Promises](#promises) · [Faults](#faults-that-were-found) · [Crash matrix](#crash-matrix) · [Crash points](#crash-points) · [Mutants](#mutants)\n\n" +
		promisesTable(shown) + "\n" + faultsTable() + "\n" + matrixTable(shown) + "\n" + points + "\n" + mutants, nil
}

func promisesTable(shown map[string][]Shown) string {
	var b strings.Builder
	b.WriteString(`## Promises

What Accession promises, and the tests that show it: each names the promise in its
comment (` + "`Shows: P1`" + `). A promise without a test fails. After each run with faults the
histories of all batches, jobs and files are checked (legal, without holes, the registers
linearizable, the claims of each one after the other) and compared with the live tree,
the tables and the working directories ([operating.md](operating.md#verify-and-repair)). The functions of
` + "`eventstore/storetest`" + ` run against ZooKeeper, NATS and memory, as ` + "`TestConformance`" + ` of
each. Tests whose names begin with ` + "`TestSoak`" + ` run for long, by ` + "`make soak`" + `
([testing.md](testing.md)).

| | promise | tests |
|---|---|---|
`)
	for _, p := range Promises {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.ID, p.Says, inWords(shown[p.ID]))
	}
	return b.String()
}

func matrixTable(shown map[string][]Shown) string {
	var b strings.Builder
	b.WriteString(`## Crash matrix

What a crash leaves behind on the way of an event from ZooKeeper to the log and the
tables, what must happen then, and the tests that show it (` + "`Shows: C1`" + `). A row without a
test fails.

| row | crash | what is left | what must happen | tests |
|---|---|---|---|---|
`)
	for _, c := range Crashes {
		tests := inWords(shown[c.ID])
		if len(c.Points) > 0 {
			at := allPoints.Package + " `" + allPoints.Test + "` at `" + strings.Join(c.Points, "`, `") + "`"
			tests = strings.TrimSuffix(at+"; "+tests, "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, c.Crash, c.Left, c.Says, tests)
	}
	return b.String()
}

func pointsTable(root fs.FS) (string, error) {
	points, err := Points(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`## Crash points

Every place where a build with the tag ` + "`crashpoints`" + ` can be told to die or to stop
(` + "`internal/crash`" + `): before and after each effect on the world, as
` + "`NAME/before`" + ` and ` + "`NAME/after`" + `, or at one place between effects. [effects.md](effects.md) says
what those of the daemons mean. The last column is the server whose answer may be lost
right behind the point, as ` + "`make soak`" + ` tries, or the reason why there is none.

| effect or place | function | answer |
|---|---|---|
`)
	for _, p := range points {
		r, err := ReplyAt(p.Name)
		if err != nil {
			return "", err
		}
		name, after := strings.CutSuffix(p.Name, "/after")
		has := func(name string) bool {
			return slices.ContainsFunc(points, func(p Point) bool { return p.Name == name })
		}
		if after && has(name+"/before") {
			continue
		}
		if name, before := strings.CutSuffix(p.Name, "/before"); before && has(name+"/after") {
			p.Name = name
		}
		fmt.Fprintf(&b, "| `%s` | %s `%s` | %s |\n", p.Name, path.Dir(p.File), p.Function, r.cell())
	}
	return b.String(), nil
}
