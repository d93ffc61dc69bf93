package repocheck

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
)

// maxLines is where a Go file is about more than one thing.
const maxLines = 400

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

// CheckText looks for words that must not be there and for Go files that are too
// long. Generated files may be long; binary files are not read.
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
		if strings.HasSuffix(name, ".go") && len(lines) > maxLines && !generated.Match(text) {
			found = append(found, Finding{name, maxLines + 1, "is longer than 400 lines: a file is about one thing, split it"})
		}
		return nil
	})
	return found, err
}
