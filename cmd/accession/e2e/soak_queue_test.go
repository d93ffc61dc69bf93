//go:build soak && linux && !race

package e2e

import (
	"testing"
	"time"
)

// TestSoakQueueLoad is a [queueLoad] with ten thousand deposits of the one user.
// Shows: P1 P11
func TestSoakQueueLoad(t *testing.T) {
	begun := time.Now()
	const many = 10_000
	l := newQueueLoad(t, many)
	l.run(newFiles(t, 1, -1).URL)
	took := time.Since(begun).Seconds()
	figure(t, "%d deposits beside %d served in %.0f s (%.1f a second), %d processes killed", many, len(l.user)-many, took, many/took, len(l.changes())+2)
}
