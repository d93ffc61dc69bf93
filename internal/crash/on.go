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
	"time"
)

// Enabled reports whether this build has crash points.
const Enabled = true

// The variables that name the points at which this process dies, or stops.
const (
	variable     = "ACCESSION_CRASH"
	variableStop = "ACCESSION_STOP"
)

// The variables that say how wrong the clock is, which file fills the disk, how much a
// bucket of the outbox takes, and how much a cache keeps.
const (
	variableClock      = "ACCESSION_CLOCK"
	variableFull       = "ACCESSION_FULL"
	variableBucket     = "ACCESSION_BUCKET"
	variableRemembered = "ACCESSION_REMEMBERED"
)

// variablePassed names a file to which this process appends the name of each point that it
// passes.
const variablePassed = "ACCESSION_PASSED"

var (
	wrong  = mustParseClock()
	fills  = os.Getenv(variableFull)
	bucket = mustParseNumber(variableBucket)
	most   = mustParseNumber(variableRemembered)
)

// Bucket returns the number of nodes that a bucket of the outbox takes: the usual one,
// or a smaller one that a test has set.
func Bucket(usual int64) int64 {
	if bucket > 0 {
		return bucket
	}
	return usual
}

// Remembered returns the number of things that a cache or buffer keeps: the usual one, or a smaller
// one that a test has set, so that it is full after a few.
func Remembered(usual int) int {
	if most > 0 {
		return int(most)
	}
	return usual
}

// Now returns the time of this process's clock, with the error that a test has set.
func Now() time.Time { return time.Now().Add(wrong) }

// DiskFull returns the error of a write to a full disk while the disk of the working
// directory or the object store is set to be full.
func DiskFull(of Disk) error {
	if fills != "" {
		if text, err := os.ReadFile(fills); err == nil && string(text) == string(of) {
			return syscall.ENOSPC
		}
	}
	return nil
}

func mustParseClock() time.Duration {
	text := os.Getenv(variableClock)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "crash: %s=%q is no duration\n", variableClock, text)
		os.Exit(2)
	}
	return d
}

func mustParseNumber(variable string) int64 {
	text := os.Getenv(variable)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		fmt.Fprintf(os.Stderr, "crash: %s=%q is no number from 1\n", variable, text)
		os.Exit(2)
	}
	return n
}

var armed, stops, passed = mustParse(variable), mustParse(variableStop), mustAppend(os.Getenv(variablePassed))

// Point kills or stops the process when it was named, and reached often enough.
// Safe for concurrent use; of two goroutines that arrive together one makes the
// n-th hit.
func Point(name string) {
	if passed != nil {
		_, _ = passed.WriteString(name + "\n") // a test that misses it fails
	}
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

// Around passes the point name/before, runs the effect, passes the point name/after,
// whether or not the effect failed, and returns the effect's error.
func Around(name string, effect func() error) error {
	Point(name + "/before")
	err := effect()
	Point(name + "/after")
	return err
}

// mustAppend opens a file to append to; nil = it has no name.
func mustAppend(name string) *os.File {
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintf(os.Stderr, "crash: %s: %v\n", variablePassed, err)
		os.Exit(2)
	}
	return file
}

// hits is how often a point must still be passed, and how often each time after it,
// 0 = there is no next time.
type hits struct {
	left  atomic.Int64
	every int64
}

func reached(points map[string]*hits, name string) bool {
	h, ok := points[name]
	if !ok || h.left.Add(-1) != 0 {
		return false
	}
	if h.every > 0 {
		h.left.Store(h.every)
	}
	return true
}

func mustParse(variable string) map[string]*hits {
	points, err := parse(variable, os.Getenv(variable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return points
}

// parse reads name[:n[+]],... into the number of hits that are left for each name.
func parse(variable, text string) (map[string]*hits, error) {
	points := map[string]*hits{}
	if text == "" {
		return points, nil
	}
	for field := range strings.SplitSeq(text, ",") {
		name, number, counted := strings.Cut(field, ":")
		n, h := int64(1), &hits{}
		if counted {
			number, again := strings.CutSuffix(number, "+")
			var err error
			if n, err = strconv.ParseInt(number, 10, 64); err != nil || n < 1 {
				return nil, fmt.Errorf("crash: %s=%q: %q is not a number of hits from 1", variable, text, number)
			}
			if again {
				h.every = n
			}
		}
		if name == "" || points[name] != nil {
			return nil, fmt.Errorf("crash: %s=%q: point %q is empty or named twice", variable, text, name)
		}
		h.left.Store(n)
		points[name] = h
	}
	return points, nil
}
