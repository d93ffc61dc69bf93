//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"
)

// soakTime is how long faults rage; the number of stopped workers follows from it.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SOAK_TIME")
	if text == "" {
		text = "10m"
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SOAK_TIME: %v", err)
	}
	return long
}

// figure writes a line for the table at the end of `make soak`.
func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	line := t.Name() + ": " + fmt.Sprintf(format, args...)
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

// logged counts events and batches in the log.
func (in *installation) logged() (events uint64, deposits int) {
	in.t.Helper()
	info, err := in.log.Info(in.t.Context())
	in.must(err)
	return info.Last, in.count(`select count(*) from accession.batch`)
}

// TestSoakFaults breaks servers, connections and three workers at random for a long
// time.
// Shows: P1 P2 P3 P4 P5 P7
func TestSoakFaults(t *testing.T) {
	s := newStorm(t, func(r *rand.Rand) []string { return drawn(t, r) })
	begun := time.Now()
	faults := s.rages(soakTime(t))
	events, deposits := s.logged()
	figure(t, "%d faults in %v, %d deposits, %d events, at rest and verified", faults, time.Since(begun).Round(time.Second), deposits, events)
}

// counts are shared by the lanes of a run over all points.
type counts struct {
	mu                    sync.Mutex
	points, again, passed int
}

func (c *counts) add(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// retrying is how long the one that tries again may take to its point: what the first
// has done must not be done again.
const retrying = 10 * time.Second

// TestSoakCrashPoints lets a process die at each point, and the one that tries again
// after it at the same point.
// Shows: P1 P2 P3 P4 P5
func TestSoakCrashPoints(t *testing.T) {
	var c counts
	everyPoint(t, func(o *crashInstallation) {
		o.interrupt = func(o *crashInstallation, point string, at func(*os.Process, <-chan struct{}), args []string) {
			o.t.Helper()
			c.add(&c.points)
			if end, said := o.armed("ACCESSION_CRASH="+point, reaching, at, args...); end != killedItself {
				o.t.Errorf("%v was to die at %s and %s\n%s", args, point, end, said)
			}
			// A command is refused as long as the session of the dead one lasts.
			end := gaveUp
			for late := time.Now().Add(retrying / 2); end == gaveUp && time.Now().Before(late); <-time.After(200 * time.Millisecond) {
				end, _ = o.armed("ACCESSION_CRASH="+point, retrying, at, retryOf(args)...)
			}
			if end == killedItself {
				c.add(&c.again)
			} else {
				c.add(&c.passed)
			}
		}
	}, func(string) bool { return true })
	figure(t, "killed at %d points on the first try, at %d again on the retry; %d were not met again", c.points, c.again, c.passed)
	if c.again < c.points*3/4 {
		t.Errorf("only %d of %d points were met on a retry", c.again, c.points)
	}
}
