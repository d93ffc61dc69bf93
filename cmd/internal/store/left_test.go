package store

import (
	"io"
	"testing"
)

// What a claim has put under its name is found by its successor, until it is
// removed; what it was still writing is not.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	w := testWork(t, t.TempDir())
	if none, err := w.Left(bid, jid, ""); err != nil || len(none) != 0 {
		t.Fatalf("%v, %v", none, err)
	}
	dead := claim(t, w, "dead", map[string]string{"data/x": "1"})
	open, err := dead.Create("y")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Abort()
	claim(t, w, "mine", map[string]string{"data/x": "2"})
	left, err := w.Left(bid, jid, "mine")
	if err != nil || len(left) != 1 {
		t.Fatalf("%v, %v", left, err)
	}
	defer func() { _ = left[0].Close() }()
	f, err := left[0].Open("data/x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if text, err := io.ReadAll(f); err != nil || string(text) != "1" {
		t.Errorf("%q, %v", text, err)
	}
	_, err = left[0].Open("y")
	mustCode(t, err, CodeNotFound)
	if err := left[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := w.Left(bid, jid, "mine"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
