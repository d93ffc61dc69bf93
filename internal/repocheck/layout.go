package repocheck

import (
	"io/fs"
	"slices"
)

// topLevel is everything that may lie at the top of the repository.
var topLevel = []string{
	"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "DECISIONS.md", "LICENSE",
	"Makefile", "Dockerfile", "compose.yaml", "sqlc.yaml", "go.mod", "go.sum",
	".golangci.yaml", ".gitignore", ".dockerignore", ".ci",
	"domain", "eventstore", "projections", "migrations", "queries", "cmd",
	"internal", "docs", "deploy",
}

// CheckLayout refuses anything at the top level that is not in the list.
func CheckLayout(root fs.FS) ([]Finding, error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, entry := range entries {
		if !slices.Contains(topLevel, entry.Name()) && !isUnseen(entry.Name()) {
			found = append(found, Finding{entry.Name(), 0, "is not part of the layout: move it into a folder, or give the reason in DECISIONS.md and add it to repocheck/layout.go"})
		}
	}
	return found, nil
}
