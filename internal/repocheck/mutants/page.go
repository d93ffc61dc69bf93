package main

import "strings"

// section returns the part of docs/checks.md about mutants.
func section() string {
	var b strings.Builder
	b.WriteString("## Mutants\n\n" +
		"A test that cannot fail shows nothing. `make mutants` takes one protection out of the\n" +
		"program at a time, without touching the tree, and checks that the one test that is there\n" +
		"for it fails. The table is in `internal/repocheck/mutants`; `make test` checks that it\n" +
		"fits the code. `make mutants RUN=lock` tries those whose name or function matches.\n\n" + header)
	for _, m := range Mutants() {
		if !m.Was {
			b.WriteString(m.row())
		}
	}
	b.WriteString("\n### Mistakes that were made\n\nThe program was like this once.\n\n" + header)
	for _, m := range Mutants() {
		if m.Was {
			b.WriteString(m.row())
		}
	}
	return b.String()
}

const header = "| taken away | what would happen | function | test that fails |\n|---|---|---|---|\n"

func (m Mutant) row() string {
	return "| " + m.Name + " | " + m.Why + " | " + m.place() + " | " + m.Package + " `" + m.Test + "` |\n"
}

func (m Mutant) place() string {
	pkg, name, _ := strings.Cut(m.At, " ")
	return pkg + " `" + name + "`"
}
