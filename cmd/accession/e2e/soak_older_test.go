//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"testing"
)

// TestSoakOlderCopies puts each server and each pair back to a copy made under load, seven
// times.
// Shows: P1 P12 P13
func TestSoakOlderCopies(t *testing.T) {
	r := seed(t)
	n := 0
	for round := range 7 {
		for _, which := range putBacks() {
			if t.Run(fmt.Sprint(round, which), func(t *testing.T) { putBackUnderLoad(t, r, which) }) {
				n++
			}
		}
	}
	figure(t, "%d times, %d servers and pairs: noticed, healed, and equal to the list", n, len(putBacks()))
}
