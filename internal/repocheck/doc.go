// Package repocheck keeps the house in order: who may import whom, which library
// lives where, what the domain may not touch, what may lie at the top level, what no
// committed file may hold, where a crash point must stand and whose answer may be
// lost there, and which tests show what is promised. The rules are tables (layers.go,
// libraries.go, purity.go, layout.go, text.go, effects.go, replies.go, promises.go);
// one test applies them to this repository, others apply them to made-up trees that
// break each rule, to prove that they bite.
//
// Files are parsed one by one instead of asking the go command for packages, so
// that files behind build tags are held to the same rules, and a finding names
// the line.
package repocheck

import (
	"fmt"
	"strings"
)

// Module is the path that all packages of this repository begin with.
const Module = "github.com/accession-ingest/accession"

// Finding is one broken rule: where, what, and what to do about it.
type Finding struct {
	File string // path from the repository's root
	Line int    // 0 when the finding is about the whole file
	What string // one sentence, with the remedy
}

// String gives the finding in the form that editors jump to.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.File, f.What)
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What)
}

// matches reports whether a package path below the module is meant by a pattern:
// the path itself, or, when the pattern ends in "/...", the path and all below it.
// The pattern "..." means every package.
func matches(pattern, path string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return pattern == "..." || path == base || below && strings.HasPrefix(path, base+"/")
}

func matchesAny(patterns []string, path string) bool {
	for _, pattern := range patterns {
		if matches(pattern, path) {
			return true
		}
	}
	return false
}
