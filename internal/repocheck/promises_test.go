package repocheck

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestPromisesAreShown asks for a test of each promise and each row of the crash matrix.
func TestPromisesAreShown(t *testing.T) {
	t.Parallel()
	root := repository(t)
	shown, err := showsAll(root)
	if err != nil {
		t.Fatal(err)
	}
	points, err := Points(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(Promises, Crashes) {
		if len(shown[c.ID]) == 0 && len(c.Points) == 0 {
			t.Errorf("no test shows %s: %s", c.ID, c.Says)
		}
		for _, name := range c.Points {
			if !slices.ContainsFunc(points, func(p Point) bool { return p.Name == name }) {
				t.Errorf("%s: there is no crash point %s", c.ID, name)
			}
		}
	}
	if !slices.Contains(shown["P1"], allPoints) {
		t.Errorf("there is no %s in %s that shows P1", allPoints.Test, allPoints.Package)
	}
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"// TestA does.\n// Shows: P1 C2\nfunc TestA() {}":           "P1 C2",
		"// testB does.\n// Shows: P1\nfunc testB() {}":              "P1",
		"// TestA does.\n// Shows: P99\nfunc TestA() {}":             "no promise",
		"// a does.\n// Shows: P1\nfunc a() {}":                      "nowhere else",
		"func TestA() {\n\t// Shows: P1\n}":                          "nowhere else",
		"// TestA does.\n//\n// Shows: P1\n\nfunc TestA() {}":        "nowhere else",
		"// TestA shows what it does, P1 among it.\nfunc TestA() {}": "",
	} {
		shown, err := showsAll(fstest.MapFS{"domain/a_test.go": {Data: []byte("package p\n\n" + body + "\n")}})
		switch {
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", body, err, want)
		case err == nil:
			var ids []string
			for id := range shown {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			slices.Reverse(ids)
			if strings.Join(ids, " ") != want {
				t.Errorf("%s shows %v, want %q", body, ids, want)
			}
		}
	}
}
