package repocheck

import (
	"fmt"
	"io/fs"
	"strings"
)

// CheckImports holds every import of the tree against Layers and Libraries.
func CheckImports(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, s := range all {
		layer, ok := layerOf(s.pkg)
		if !ok {
			found = append(found, Finding{s.file, 0, "package " + s.pkg + " stands in no layer: add its row to repocheck/layers.go"})
			continue
		}
		for _, i := range s.imports {
			if what := refuse(s, layer, i.path); what != "" {
				found = append(found, Finding{s.file, i.line, what})
			}
		}
	}
	return found, nil
}

// refuse says why a file may not import a path, or nothing when it may.
func refuse(s source, layer Layer, path string) string {
	if own, ok := strings.CutPrefix(path, Module+"/"); ok {
		return refuseOwn(s, layer, own)
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library; the domain's share of it is in purity.go
	}
	library, ok := libraryOf(path)
	switch {
	case !ok:
		return fmt.Sprintf("imports %s, which has no row in repocheck/libraries.go: see CONTRIBUTING.md on adding a dependency", path)
	case matchesAny(library.Users, s.pkg), s.test && matchesAny(library.TestUsers, s.pkg):
		return ""
	}
	return fmt.Sprintf("imports %s, which only %s may: go through them", path, orNobody(library.Users))
}

func refuseOwn(s source, layer Layer, own string) string {
	switch {
	case s.test && own == s.pkg: // an external test imports what it tests
		return ""
	case matches("internal/crash/...", own) && !matchesAny(domain, s.pkg):
		return ""
	case s.test && matchesAny([]string{"internal/testkit/...", "internal/repocheck"}, own):
		return ""
	case matchesAny(layer.May, own), s.test && matchesAny(layer.TestMay, own):
		return ""
	case sameRow(layer, s.pkg, own):
		return ""
	}
	return fmt.Sprintf("%s imports %s; it may import: %s (repocheck/layers.go)", s.pkg, own, orNobody(layer.May))
}

// sameRow allows a package of a "x/..." pattern the other packages of x.
func sameRow(layer Layer, importer, own string) bool {
	for _, pattern := range layer.Packages {
		if matches(pattern, importer) && matches(pattern, own) && strings.HasSuffix(pattern, "/...") {
			return true
		}
	}
	return false
}

func orNobody(list []string) string {
	if len(list) == 0 {
		return "nothing of this repository"
	}
	return strings.Join(list, ", ")
}
