package main

import "strings"

// page draws docs/mutants.md.
func page() string {
	var b strings.Builder
	b.WriteString("# Mutants\n\n" +
		"A test that cannot fail shows nothing. `make mutants` takes one protection out of the\n" +
		"program at a time, without touching the tree, and looks whether the one test that is\n" +
		"there for it goes red. `make generate` writes this page from the table in\n" +
		"`internal/repocheck/mutants`; `make test` checks that the table fits the code.\n" +
		"`make mutants RUN=lock` tries those whose name or function matches.\n\n" +
		"## Protections\n\n" + header)
	for _, m := range Mutants() {
		if !m.Was {
			b.WriteString(m.row())
		}
	}
	b.WriteString("\n## Mistakes that were made\n\nThe program was like this once.\n\n" + header)
	for _, m := range Mutants() {
		if m.Was {
			b.WriteString(m.row())
		}
	}
	return b.String()
}

const header = "| taken away | what would happen | function | test that goes red |\n|---|---|---|---|\n"

func (m Mutant) row() string {
	return "| " + m.Name + " | " + m.Why + " | " + m.place() + " | " + m.Package + " `" + m.Test + "` |\n"
}

func (m Mutant) place() string {
	pkg, name, _ := strings.Cut(m.At, " ")
	return pkg + " `" + name + "`"
}
