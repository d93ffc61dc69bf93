package repocheck

import (
	"slices"
	"testing"
	"testing/fstest"
)

// TestFaultsHaveTests: each fault that was found has tests, and they are there.
func TestFaultsHaveTests(t *testing.T) {
	t.Parallel()
	missing, err := NoTests(repository(t), Faults)
	if err != nil || len(missing) > 0 {
		t.Errorf("%q, %v", missing, err)
	}
	root := fstest.MapFS{"domain/a_test.go": {Data: []byte("package p\n\nfunc TestA() {}\n\nfunc (k kit) TestB() {}\n")},
		"domain/a.go": {Data: []byte("package p\n\nfunc TestC() {}\n")}}
	missing, err = NoTests(root, []Fault{{ID: "X1", Tests: tests("domain TestA TestB TestC", "eventstore TestA")}, {ID: "X2"}})
	want := []string{"X1: there is no TestB in domain", "X1: there is no TestC in domain", "X1: there is no TestA in eventstore", "X2 names no test"}
	if err != nil || !slices.Equal(missing, want) {
		t.Errorf("%q, %v, want %q", missing, err, want)
	}
}
