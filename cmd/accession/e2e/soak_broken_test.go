//go:build soak && linux && !race

package e2e

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// TestSoakBrokenRequests is TestBrokenRequests with a million requests, or as many as
// SOAK_REQUESTS says.
// Shows: P8
func TestSoakBrokenRequests(t *testing.T) {
	requests := 1_000_000
	if text := os.Getenv("SOAK_REQUESTS"); text != "" {
		var err error
		if requests, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	kinds := brokenRequests(t, requests)
	all := 0
	for _, n := range kinds {
		all += n
	}
	figure(t, "%d requests of %d kinds in %.0f s, %d of them good, %d of these deposits", all, len(kinds), time.Since(begun).Seconds(), kinds["good"]+kinds["good deposit"], kinds["good deposit"])
}
