package limits

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// Attempts are counted in one stay in a state.
func TestTries(t *testing.T) {
	t.Parallel()
	tr := NewTries()
	a := domain.NewJobID(1).Aggregate()
	for i := range 5 {
		if n := tr.Again(a, "downloading0", true); n != i+1 || tr.Count(a, "downloading0", true) != n {
			t.Errorf("try %d is %d", i+1, n)
		}
	}
	if n := tr.Again(a, "downloading0", false); n != 1 {
		t.Errorf("the first of ours is %d", n)
	}
	if tr.Answered(a); tr.Count(a, "downloading0", true) != 0 || tr.Count(a, "downloading0", false) != 1 {
		t.Error("after an answer the failures of others are not forgotten, or ours are")
	}
	if n := tr.Count(a, "downloading1", true); n != 0 {
		t.Errorf("after a requeue: %d", n)
	}
	if n := tr.Again(a, "downloading1", true); n != 1 {
		t.Errorf("after a requeue: %d", n)
	}
}
