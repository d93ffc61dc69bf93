//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/stack"
)

// putBacks returns the servers that are put back to older copies, each alone and each
// pair.
func putBacks() (all [][]stack.Server) {
	each := []stack.Server{stack.ZooKeeper, stack.NATS, stack.PostgreSQL, objects}
	for i, s := range each {
		all = append(all, []stack.Server{s})
		for _, other := range each[i+1:] {
			all = append(all, []stack.Server{s, other})
		}
	}
	return all
}

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
