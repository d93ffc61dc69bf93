package repocheck

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestEveryTestIsRun: `make test` runs all tests with the race detector, and those
// that are not there then by their names, in the packages that it lists.
func TestEveryTestIsRun(t *testing.T) {
	t.Parallel()
	root := repository(t)
	text, err := fs.ReadFile(root, "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^WITHOUT_RACE := (.+)$`).FindSubmatch(text)
	line := regexp.MustCompile(`(?m)^.* -run '\$\(WITHOUT_RACE\)' .*$`).Find(text)
	if named == nil || line == nil {
		t.Fatal("the Makefile does not say which tests run without the race detector")
	}
	runs := regexp.MustCompile(string(named[1]))
	funcs := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tagged := regexp.MustCompile(`(?m)^//go:build .*!race.*$`)
	found := 0
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(root, file)
		tags := tagged.Find(source)
		if err != nil || tags == nil || strings.Contains(string(tags), "soak") {
			return err
		}
		for _, f := range funcs.FindAllSubmatch(source, -1) {
			found++
			dir := " ./" + file[:strings.LastIndex(file, "/")] + " "
			if !runs.Match(f[1]) || !strings.Contains(string(line), dir) {
				t.Errorf("%s: no line of the Makefile runs %s: name it in WITHOUT_RACE, and its package where that is used", file, f[1])
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d tests without the race detector were found: %v", found, err)
	}
}
