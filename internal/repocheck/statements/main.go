// Command statements counts the hand-written statements and lines of each package of a
// tree (by default the one it runs in), without tests and generated code.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/accession-ingest/accession/internal/repocheck"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := count(os.Stdout, dir); err != nil {
		fmt.Fprintln(os.Stderr, "statements:", err)
		os.Exit(2)
	}
}

func count(out io.Writer, dir string) error {
	sizes, err := repocheck.Sizes(os.DirFS(dir))
	if err != nil {
		return err
	}
	var production, tests repocheck.Size
	for _, s := range sizes {
		total, kind := &production, ""
		if !s.Production {
			total, kind = &tests, "  for tests"
		}
		total.Statements += s.Statements
		total.Lines += s.Lines
		fmt.Fprintf(out, "%7d %7d  %s%s\n", s.Statements, s.Lines, s.Package, kind)
	}
	_, err = fmt.Fprintf(out, "%7d %7d  for tests\n%7d %7d  production: statements, lines\n", tests.Statements, tests.Lines, production.Statements, production.Lines)
	return err
}
