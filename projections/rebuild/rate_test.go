package rebuild

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRateOfReplay: rate and rest count all that a run has replayed, in as many fills
// as it took, and nothing of what an earlier run left.
func TestRateOfReplay(t *testing.T) {
	t.Parallel()
	want := Progress{Phase: "replay", Seq: 5000, Last: 7000, Rate: 100, Left: 20 * time.Second}
	if diff := cmp.Diff(want, replaying(1000, 10*time.Second, 5000, 7000)); diff != "" {
		t.Error(diff)
	}
}
