package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// footprint is what an installation at rest takes.
type footprint struct {
	nodes      map[string]int // of ZooKeeper by kind, without those of batches and jobs
	goroutines int            // the most of any process
	heap       int            // the largest live heap of any process, in bytes
	files      int            // the most open files of any process
}

var (
	named      = regexp.MustCompile(`/([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(b|e-)?[0-9]+)`)
	goroutines = regexp.MustCompile(`(?m)^go_goroutines (\S+)$`)
	heapAlloc  = regexp.MustCompile(`(?m)^go_memstats_heap_alloc_bytes (\S+)$`)
	heapLive   = regexp.MustCompile(`(?m)^# HeapAlloc = (\S+)$`)
	openFiles  = regexp.MustCompile(`(?m)^process_open_fds (\S+)$`)
)

// takes measures processes that run, and the tree. Everything must be at rest.
func (in *installation) takes(workers ...*service) footprint {
	in.t.Helper()
	f := footprint{nodes: map[string]int{}}
	for path := range in.nodesFrom("") {
		// What belongs to a batch or job is compared with the log.
		if !strings.Contains(path, "/bid0") && !strings.Contains(path, "jid0") {
			f.nodes[named.ReplaceAllString(path, "/*")]++
		}
	}
	// A bucket that is full stays until the first event in the next one was sent.
	if f.nodes["/outbox/*/*"] <= 2*f.nodes["/outbox/*"] {
		delete(f.nodes, "/outbox/*/*")
	}
	for _, w := range workers {
		// The garbage is collected right before the heap is read. The metrics are read later, and
		// count what was allocated meanwhile.
		live, text := w.get("/debug/pprof/heap?gc=1&debug=1"), w.get("/metrics")
		f.goroutines, f.heap, f.files = max(f.goroutines, in.metric(text, goroutines)), max(f.heap, in.metric(live, heapLive)), max(f.files, in.metric(text, openFiles))
	}
	return f
}

func (in *installation) metric(text string, which *regexp.Regexp) int {
	in.t.Helper()
	found := which.FindStringSubmatch(text)
	if found == nil {
		in.t.Fatalf("the process does not tell %s", which)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	in.must(err)
	return int(n)
}

// Room for what a process keeps for a while: connections, caches, buffers.
const (
	moreGoroutines = 20
	moreHeap       = 8 << 20
	moreFiles      = 20
	// settling is until nodes with a grace time have gone, sessions of those who died, and
	// connections to depositors' servers that are kept for half a minute without a request, with two
	// goroutines each.
	settling = 45 * time.Second
)

// back fails the test unless everything takes again what it took before, a heap at
// most so much more. What ends by itself in a moment does not count.
func (in *installation) back(before footprint, more int, workers ...*service) {
	in.t.Helper()
	// Events that were in the log already, permits that are kept for a moment, and places of batches that ran.
	maps.DeleteFunc(before.nodes, func(path string, _ int) bool {
		return path == "/outbox/*/*/*" || strings.HasPrefix(path, "/hosts/") || strings.HasPrefix(path, "/queues/metadata/running/")
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	now := in.takes(workers...)
	for end := time.Now().Add(settling); now.over(before, more) != "" && time.Now().Before(end); now = in.takes(workers...) {
		<-tick.C
	}
	in.t.Logf("goroutines %d, before %d; heap %d, before %d; open files %d, before %d; nodes %v", now.goroutines, before.goroutines, now.heap, before.heap, now.files, before.files, now.nodes)
	if over := now.over(before, more); over != "" {
		in.t.Error(over)
		for _, w := range workers { // the stacks, the most frequent first, and of the heap the largest
			in.t.Logf("%.20000s\n%.20000s", w.get("/debug/pprof/goroutine?debug=1"), w.get("/debug/pprof/heap?gc=1&debug=1"))
		}
	}
}

// over says what is more than before.
func (f footprint) over(before footprint, more int) string {
	switch {
	case !maps.Equal(f.nodes, before.nodes):
		return "nodes before (-) and now (+):\n" + cmp.Diff(before.nodes, f.nodes)
	case f.goroutines > before.goroutines+moreGoroutines:
		return fmt.Sprintf("%d goroutines, before %d", f.goroutines, before.goroutines)
	case f.heap > before.heap+more:
		return fmt.Sprintf("a heap of %d bytes, before %d", f.heap, before.heap)
	case f.files > before.files+moreFiles:
		return fmt.Sprintf("%d open files, before %d", f.files, before.files)
	}
	return ""
}
