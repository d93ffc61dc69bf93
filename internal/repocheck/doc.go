// Package repocheck checks the repository. Its rules are tables:
//
//	layers.go, libraries.go   who imports whom, and where a library may be used
//	purity.go                 what packages that only decide may use
//	layout.go, text.go        the top level, and text that no file may hold
//	sizes.go                  interfaces, packages and files that are too large; test machinery
//	words.go, glossary.go     the words of names, comments and messages (docs/glossary.md)
//	sql.go                    SQL outside of queries/
//	effects.go, replies.go    crash points around effects, and answers that may be lost there
//	promises.go               which tests show what is promised
//	tour.go, calls.go         the functions that docs/tour.md names, and who calls whom
//
// One test applies them to this repository; others apply them to made-up trees that
// break each rule, to prove that they find it. Below it are the commands mutants,
// statements and testreport.
//
// Files are parsed one by one instead of asking the go command for packages, so that
// files behind build tags are held to the same rules, and a finding names the line.
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

// String returns the finding in the form that editors jump to.
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
