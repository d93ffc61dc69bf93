package archtest

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	inPackage = regexp.MustCompile("^([a-z/]+) `")
	named     = regexp.MustCompile("`([^`]+)`")
)

// TestCrashMatrixNamesTests looks for every test and every crash point that the
// page names.
func TestCrashMatrixNamesTests(t *testing.T) {
	t.Parallel()
	root := repository(t)
	page, err := fs.ReadFile(root, "docs/crash-matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	points, err := Points(root)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range points {
		known[p.Name] = true
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], "---") || cells[1] == " crash " {
			continue
		}
		rows++
		tests := 0
		for part := range strings.SplitSeq(cells[4], ";") {
			pkg := inPackage.FindStringSubmatch(strings.TrimSpace(part))
			if pkg == nil {
				t.Errorf("%q names no package", part)
				continue
			}
			for _, name := range named.FindAllStringSubmatch(part, -1) {
				switch {
				case !strings.HasPrefix(name[1], "Test"):
					if !known[name[1]] {
						t.Errorf("there is no crash point %s", name[1])
					}
				case !hasTest(t, root, pkg[1], name[1]):
					t.Errorf("there is no %s in %s", name[1], pkg[1])
				default:
					tests++
				}
			}
		}
		if tests == 0 {
			t.Errorf("no test shows what happens: %s", cells[1])
		}
	}
	if rows != 13 {
		t.Errorf("%d rows, want 13", rows)
	}
}

func hasTest(t *testing.T, root fs.FS, pkg, name string) bool {
	t.Helper()
	files, err := fs.Glob(root, path.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := fs.ReadFile(root, f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
