package limits

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
)

// The pauses grow and are bounded: an hour for the attempts at a depositor's server.
// Shows: P18
func TestPauses(t *testing.T) {
	t.Parallel()
	c := Pauses{First: time.Second, Longest: 10 * time.Minute}
	var ours, theirs time.Duration
	for n := 1; n < profile.Defaults().Fetch.Attempts; n++ {
		d, their := c.Ours(n, 0), c.Theirs(n, 0)
		if d > MaxOurs || their > c.Longest*11/10 || n == 1 && (d != time.Second || their > 1100*time.Millisecond) || n == 3 && d != 4*time.Second {
			t.Errorf("try %d pauses %s, %s", n, d, their)
		}
		ours, theirs = ours+d, theirs+their
	}
	if ours < 9*time.Minute || theirs < time.Hour || theirs > 2*time.Hour {
		t.Errorf("%s and %s in all", ours, theirs)
	}
	if d := c.Ours(1, 2*time.Minute); d != 2*time.Minute {
		t.Errorf("a service of ours asked for two minutes: %s", d)
	}
	if d := c.Ours(9, time.Second); d != MaxOurs {
		t.Errorf("a service of ours asked for less than the pause: %s", d)
	}
	if d := c.Ours(1, 24*time.Hour); d != c.Longest {
		t.Errorf("a service of ours asked for a day: %s", d)
	}
	if d := c.Theirs(1, time.Minute); d < time.Minute || d > 66*time.Second {
		t.Errorf("asked for a minute: %s", d)
	}
	if d := c.Theirs(1, 24*time.Hour); d < c.Longest || d > c.Longest*11/10 {
		t.Errorf("asked for a day: %s", d)
	}
}
