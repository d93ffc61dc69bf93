//go:build crashpoints

package crash

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled tells whether this build has crash points.
const Enabled = true

// The variables that name the points at which this process dies, or stops.
const (
	variable     = "ACCESSION_CRASH"
	variableStop = "ACCESSION_STOP"
)

var armed, stops = mustParse(variable), mustParse(variableStop)

// Point kills or stops the process when it was named, and reached often enough.
// Safe for concurrent use; of two goroutines that arrive together one makes the
// n-th hit.
func Point(name string) {
	if reached(armed, name) {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; do nothing more
	}
	if reached(stops, name) {
		goOn := make(chan os.Signal, 1)
		signal.Notify(goOn, syscall.SIGCONT)
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
		<-goOn // other threads may stop a moment later than the signal was sent
		signal.Stop(goOn)
	}
}

func reached(points map[string]*atomic.Int64, name string) bool {
	left, ok := points[name]
	return ok && left.Add(-1) == 0
}

func mustParse(variable string) map[string]*atomic.Int64 {
	points, err := parse(variable, os.Getenv(variable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return points
}

// parse reads name[:n],... into the number of hits that are left for each name.
func parse(variable, text string) (map[string]*atomic.Int64, error) {
	points := map[string]*atomic.Int64{}
	if text == "" {
		return points, nil
	}
	for field := range strings.SplitSeq(text, ",") {
		name, number, counted := strings.Cut(field, ":")
		hits := int64(1)
		if counted {
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("crash: %s=%q: %q is not a number of hits from 1", variable, text, number)
			}
			hits = n
		}
		if name == "" || points[name] != nil {
			return nil, fmt.Errorf("crash: %s=%q: point %q is empty or named twice", variable, text, name)
		}
		points[name] = new(atomic.Int64)
		points[name].Store(hits)
	}
	return points, nil
}
