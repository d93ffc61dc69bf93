package repocheck

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// crumb is the number of lines of code, without comments and empty lines, from which on
// a package with one importer needs no reason.
const crumb = 60

// CheckCrumbs refuses small production packages that one other package imports, unless
// the row of the import table that they have for themselves says why they stand alone.
func CheckCrumbs(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	lines, importers, generated := map[string]int{}, map[string]map[string]bool{}, map[string]bool{}
	for _, s := range all {
		if !s.production() {
			continue
		}
		text, err := fs.ReadFile(root, s.file)
		if err != nil {
			return nil, err
		}
		lines[s.pkg] += linesOfCode(string(text))
		generated[s.pkg] = generated[s.pkg] || ast.IsGenerated(s.syntax)
		for _, i := range s.imports {
			if own, ok := strings.CutPrefix(i.path, Module+"/"); ok {
				if importers[own] == nil {
					importers[own] = map[string]bool{}
				}
				importers[own][s.pkg] = true
			}
		}
	}
	var found []Finding
	for _, pkg := range slices.Sorted(maps.Keys(lines)) {
		small := lines[pkg] < crumb && len(importers[pkg]) == 1 && !generated[pkg]
		layer, _ := layerOf(pkg)
		reason := slices.Equal(layer.Packages, []string{pkg}) && layer.Why != ""
		switch {
		case small && !reason:
			by := slices.Collect(maps.Keys(importers[pkg]))[0]
			found = append(found, Finding{pkg, 0, fmt.Sprintf("has %d lines of code and one importer: join it into %s, or give it a row in repocheck/layers.go with a reason (Why)", lines[pkg], by)})
		case reason && !small:
			found = append(found, Finding{pkg, 0, "is no crumb: remove the reason (Why) from its row in repocheck/layers.go"})
		}
	}
	return found, nil
}

// linesOfCode counts the lines that are neither empty nor only a comment.
func linesOfCode(text string) (n int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
