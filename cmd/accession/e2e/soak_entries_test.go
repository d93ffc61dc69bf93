//go:build soak && linux && !race

package e2e

import (
	"testing"
	"time"
)

// TestSoakEntriesUnderKills is a large [entriesLoad].
// Shows: P1 P5
func TestSoakEntriesUnderKills(t *testing.T) {
	begun := time.Now()
	l := newEntriesLoad(t, 3_000, 4_096)
	l.run(40)
	figure(t, "%d entries and %d requests under %d keys in %.0f s, 40 processes killed, %d sessions ended, %d of them at a claim or completion, %d attempts lost, %d entries completed over HTTP and %d completions refused", l.entries, l.requests, sharedKeys, time.Since(begun).Seconds(), l.ended+l.endedAt(), l.endedAt(),
		l.count("select count(*) from accession.event where type = 'entry.returned' and data #>> '{reason,code}' = 'worker_lost'"), l.completed, l.refused)
}
