package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/internal/repocheck"
)

// slowestShown is the length of the list of slow tests.
const slowestShown = 20

// veryLong is the time from which on a test's own lines are shown, for they may tell where
// it went.
const veryLong = 5 * time.Minute

// event is one line of `go test -json` (see `go doc test2json`) or, with
// ImportPath instead of Package, of `go build -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string
}

// test names one test or subtest.
type test struct{ pkg, name string }

// timing is how long one test took.
type timing struct {
	test
	took time.Duration
	said []string // what it logged, of a test that took very long
}

// failure is a test that failed, and what is repeated of it at the end.
type failure struct {
	test
	said []string
}

// report gathers the stream. A test's output is held back until its result is
// known, so that passing tests stay silent and parallel failures do not mix.
type report struct {
	out     io.Writer
	source  fs.FS // of the module
	pending map[test][]string
	slow    []timing
	waited  map[test]bool   // tests with subtests that run in parallel: their time is mostly that of others
	open    map[string]bool // packages that started and have not ended
	lines   []string        // the last line of each package that has tests
	passed  int
	failed  []failure
	skipped []test
	broken  bool // a package failed, by a test or on its own
}

// run copies the interesting part of the stream to out as it comes, then adds the
// summary. It reports whether everything was tried and passed; an error means
// that the stream could not be read or the report not written.
func run(in io.Reader, out *bufio.Writer, source fs.FS) (bool, error) {
	r := &report{out: out, source: source, pending: map[test][]string{}, waited: map[test]bool{}, open: map[string]bool{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.take(line)
		}
		if flushErr := out.Flush(); flushErr != nil {
			return false, flushErr
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read the test stream: %w", err)
		}
	}
	r.summary()
	return r.kept(), out.Flush()
}

func (r *report) kept() bool {
	return !r.broken && len(r.open) == 0 && len(r.failed) == 0 && len(r.skipped) == 0 && r.passed > 0
}

// take handles one line. What is not an event (the stack's own messages, say) is
// passed through.
func (r *report) take(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(r.out, line)
		return
	}
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "start":
		r.open[e.Package] = true
	case "output":
		r.pending[t] = append(r.pending[t], e.Output)
	case "pause":
		for name, ok := parent(t.name); ok; name, ok = parent(name) {
			r.waited[test{t.pkg, name}] = true
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(t, e)
		} else {
			r.endTest(t, e)
		}
	}
}

func (r *report) endTest(t test, e event) {
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		dir := strings.TrimPrefix(strings.TrimPrefix(t.pkg, repocheck.Module), "/")
		r.failed = append(r.failed, failure{t, messages(r.source, dir, r.pending[t])})
		r.show(t)
	case "skip":
		r.skipped = append(r.skipped, t)
		r.show(t)
	}
	if r.timed(t) {
		of := timing{test: t, took: time.Duration(e.Elapsed * float64(time.Second))}
		if of.took >= veryLong {
			of.said = logged(r.pending[t])
		}
		r.slow = append(r.slow, of)
	}
	delete(r.pending, t)
}

// timed reports whether the time of a test is listed. That of a subtest is in its
// parent's, unless subtests there run in parallel: the parent's time then has what they
// waited until others had ended, and they are listed in its place.
func (r *report) timed(t test) bool {
	above, sub := parent(t.name)
	return !r.waited[t] && (!sub || r.waited[test{t.pkg, above}])
}

// parent returns the name of the test that runs a subtest; false = it is no subtest.
func parent(name string) (above string, sub bool) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], i >= 0
}

// endPackage prints what the package wrote outside its tests (a panic, a race, a
// leak found by TestMain) when it failed, and its closing line always.
func (r *report) endPackage(t test, e event) {
	delete(r.open, e.Package)
	last := ""
	for _, line := range r.pending[t] {
		if isClosing(line) {
			last = line
		} else if e.Action == "fail" && line != "FAIL\n" {
			fmt.Fprint(r.out, line)
		}
	}
	delete(r.pending, t)
	if e.Action == "fail" {
		r.broken = true
		r.endPanics(e.Package)
		if last == "" {
			last = fmt.Sprintf("FAIL\t%s\t%.3fs\n", e.Package, e.Elapsed)
		}
	}
	fmt.Fprint(r.out, last)
	if last != "" && e.Action != "skip" {
		r.lines = append(r.lines, last)
	}
}

// endPanics ends the tests of a package as failed that were running when the program
// panicked in a goroutine of its own: no event says that they ended.
func (r *report) endPanics(pkg string) {
	var ended []test
	for t, output := range r.pending {
		if t.pkg == pkg && slices.ContainsFunc(output, isPanic) {
			ended = append(ended, t)
		}
	}
	slices.SortFunc(ended, func(a, b test) int { return strings.Compare(a.name, b.name) })
	for _, t := range ended {
		r.endTest(t, event{Action: "fail"})
	}
}

// isPanic recognises the line with which a Go program ends that cannot go on.
func isPanic(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// isClosing recognises the line that go test ends a package with.
func isClosing(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t") ||
		strings.HasPrefix(line, "?   \t")
}

// show prints what a test wrote, without the lines that only trace its progress.
func (r *report) show(t test) {
	for _, line := range r.pending[t] {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
		}
	}
}

// summary ends with what went wrong, so that a log of which only the end is kept says so.
func (r *report) summary() {
	slices.SortStableFunc(r.slow, func(a, b timing) int { return int(b.took - a.took) })
	fmt.Fprintf(r.out, "\nslowest tests\n")
	for _, s := range r.slow[:min(slowestShown, len(r.slow))] {
		fmt.Fprintf(r.out, "%9.2fs  %s  %s\n", s.took.Seconds(), s.name, s.pkg)
		for _, line := range s.said {
			fmt.Fprintln(r.out, "        "+line)
		}
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped in %d packages\n\n",
		r.passed, len(r.failed), len(r.skipped), len(r.lines))
	for _, line := range r.lines {
		fmt.Fprint(r.out, line)
	}
	for _, t := range r.skipped {
		fmt.Fprintf(r.out, "skipped, which counts as failed: %s  %s\n", t.name, t.pkg)
	}
	for _, t := range r.failed {
		fmt.Fprintf(r.out, "failed: %s  %s\n", t.name, t.pkg)
		for _, line := range t.said {
			fmt.Fprintln(r.out, line)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.open)) {
		fmt.Fprintf(r.out, "cut off before its end: %s\n", pkg)
	}
	if r.passed+len(r.failed)+len(r.skipped) == 0 {
		fmt.Fprintln(r.out, "no test ran, which counts as failed")
	}
	if !r.kept() {
		fmt.Fprintln(r.out, "FAIL")
	}
}
