package repocheck

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestEveryTestIsRun: `make test` runs tests with the race detector, of end-to-end tests a third,
// but for those that it names: these run without, in the packages that it lists.
func TestEveryTestIsRun(t *testing.T) {
	t.Parallel()
	root := repository(t)
	text, err := fs.ReadFile(root, "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, kind := range []string{"LARGE", "DYING", "TABLES", "DAMAGED"} {
		named := regexp.MustCompile(`(?m)^` + kind + ` +:= (.+)$`).FindSubmatch(text)
		if named == nil {
			t.Fatalf("the Makefile does not say which tests are %s", kind)
		}
		names = append(names, string(named[1]))
	}
	lines := regexp.MustCompile(`(?m)^.*\$\(GOTEST\) .* (-run '\$\(WITHOUT_RACE\)'|-skip "\$\$raced") .*$`).FindAll(text, -1)
	if len(lines) != 2 {
		t.Fatal("the Makefile does not run the tests without the race detector")
	}
	line := bytes.Join(lines, []byte("\n"))
	runs := regexp.MustCompile(strings.Join(names, "|"))
	funcs := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tagged := regexp.MustCompile(`(?m)^//go:build .*!race.*$`)
	found := 0
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(root, file)
		if err != nil || bytes.Contains(source, []byte("//go:build soak")) {
			return err
		}
		dir := " ./" + file[:strings.LastIndex(file, "/")] + " "
		for _, f := range funcs.FindAllSubmatch(source, -1) {
			named := runs.Match(f[1])
			if named {
				found++
			}
			switch {
			case tagged.Match(source) && !named:
				t.Errorf("%s: no line of the Makefile runs %s: name it among the tests without the race detector", file, f[1])
			case named && !strings.Contains(string(line), dir):
				t.Errorf("%s: no line of the Makefile runs %s: list its package where WITHOUT_RACE is used", file, f[1])
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d tests without the race detector were found: %v", found, err)
	}
}
