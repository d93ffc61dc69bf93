//go:build soak && linux && !race

package model_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestSoakQueue is TestQueue with a million steps.
func TestSoakQueue(t *testing.T) {
	const steps = 1_000_000
	begun := time.Now()
	n := compare(t, seed(t), steps)
	line := fmt.Sprintf("%s: %d steps in %d worlds in %s, %d grabs, %d of nothing; no difference",
		t.Name(), n.steps, n.worlds, time.Since(begun).Round(time.Second), n.grabs[1]+n.grabs[2]+n.grabs[3], n.none)
	t.Log(line)
	name := os.Getenv("SOAK_FIGURES")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, line); err != nil {
		t.Fatal(err)
	}
}
