package repocheck

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// CheckImports holds every import of the tree against Layers and Libraries.
func CheckImports(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	found := unused(root, all)
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

// unused finds patterns of the tables that match no package, and libraries that no
// package imports.
func unused(root fs.FS, all []source) (found []Finding) {
	if !whole(root) {
		return nil
	}
	stale := func(table, what string) {
		found = append(found, Finding{"internal/repocheck/" + table, 0, what + ": remove it"})
	}
	exists := func(pattern string) bool {
		return slices.ContainsFunc(all, func(s source) bool { return matches(pattern, s.pkg) })
	}
	for i, layer := range Layers {
		if !slices.ContainsFunc(all, func(s source) bool {
			return matchesAny(layer.Packages, s.pkg) && !slices.ContainsFunc(Layers[:i], func(before Layer) bool { return matchesAny(before.Packages, s.pkg) })
		}) {
			stale("layers.go", "no package falls to the row of "+strings.Join(layer.Packages, ", "))
		}
		for _, pattern := range slices.Concat(layer.Packages, layer.May, layer.TestMay) {
			if !exists(pattern) {
				stale("layers.go", "the row of "+strings.Join(layer.Packages, ", ")+" names "+pattern+", which matches no package")
			}
		}
	}
	imports := func(l Library, users []string, test bool) bool {
		return slices.ContainsFunc(all, func(s source) bool {
			return (test || !s.test) && matchesAny(users, s.pkg) && slices.ContainsFunc(s.imports, func(i imported) bool { return l.has(i.path) })
		})
	}
	for _, l := range Libraries {
		for _, user := range l.Users {
			if !exists(user) || len(l.Users) <= few && !imports(l, []string{user}, true) {
				stale("libraries.go", user+" does not exist or does not import "+l.Path)
			}
		}
		if !imports(l, l.Users, false) && !imports(l, slices.Concat(l.Users, l.TestUsers), true) {
			stale("libraries.go", "no package imports "+l.Path)
		}
	}
	return found
}

// few is the number of users that a library's row names one by one; longer rows name
// groups.
const few = 4

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
	return fmt.Sprintf("imports %s, which only %s may: go through them", path, orNothing(library.Users))
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
	return fmt.Sprintf("%s imports %s; it may import: %s (repocheck/layers.go)", s.pkg, own, orNothing(layer.May))
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

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing of this repository"
	}
	return strings.Join(list, ", ")
}
