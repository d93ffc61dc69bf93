package repocheck

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// manyLines is the length from which a Go file is reported as long.
const manyLines = 500

// words is what no committed file may hold. The expressions are written so that
// they do not match themselves.
var words = []struct {
	files *regexp.Regexp // which files; a Dockerfile's paths are those of its image
	word  *regexp.Regexp // matched line by line
	what  string
}{
	{regexp.MustCompile(`_test\.go$`), regexp.MustCompile(`time\.Sleep[(]`), "a test waits on a signal and never sleeps"},
	{regexp.MustCompile(`_test\.go$`), regexp.MustCompile(`\b[tb]\.Skip(f|Now)?[(]`), "a test that cannot run fails: it never skips"},
	{regexp.MustCompile(`\.go$`), regexp.MustCompile(`//.*\b(TO[D]O|FIX[M]E|XX[X])\b`), "finish it, or describe the limit in the documentation"},
	{regexp.MustCompile(`(^|/)([^D]|D[^o])[^/]*$`), regexp.MustCompile(`(^|[\s"'=(:])/(root|home/\w+|Users/\w+)/`), "the path of one machine: make it relative or a setting"},
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// LongFiles returns the hand-written Go files of more than 500 lines. Such a file is a
// question, not an error: it may be about more than one thing.
func LongFiles(root fs.FS) ([]Finding, error) {
	var found []Finding
	err := files(root, func(name string, text []byte) error {
		if n := bytes.Count(text, []byte("\n")); strings.HasSuffix(name, ".go") && n > manyLines && !generated.Match(text) {
			found = append(found, Finding{name, 0, fmt.Sprintf("has %d lines: is it about one thing?", n)})
		}
		return nil
	})
	return found, err
}

// CheckText looks for text that no committed file may hold. Binary files are not read.
func CheckText(root fs.FS) ([]Finding, error) {
	var found []Finding
	err := files(root, func(name string, text []byte) error {
		if bytes.IndexByte(text, 0) >= 0 {
			return nil
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for _, w := range words {
			if !w.files.MatchString(name) {
				continue
			}
			for i, line := range lines {
				if w.word.MatchString(line) {
					found = append(found, Finding{name, i + 1, w.what + ": " + strings.TrimSpace(line)})
				}
			}
		}
		return nil
	})
	return found, err
}
