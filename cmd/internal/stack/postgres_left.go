package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sharedMemory lists the System V shared memory of the machine, one block a line:
// key, id, …; the seventh column counts the processes that are attached.
const sharedMemory = "/proc/sysvipc/shm"

// awaitLeft waits until no process of a server that was killed is left in the data
// directory. PostgreSQL's processes end by themselves a moment after their parent,
// and until then a new server refuses to start ("pre-existing shared memory block
// … is still in use"). Where the kernel has no such list, nothing is waited for.
func (p *postgres) awaitLeft(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := p.left()
		if left == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("processes of the server before are still in %s (shared memory %s, %d attached); end them: %w",
				p.dir, left, attached(left), context.Cause(ctx))
		}
	}
}

// left is the id of the shared memory that processes of an earlier server still
// use, "" when there is none. The seventh line of postmaster.pid names it.
func (p *postgres) left() string {
	data, err := os.ReadFile(filepath.Join(p.dir, "postmaster.pid"))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) < 7 {
		return ""
	}
	if f := strings.Fields(lines[6]); len(f) == 2 && attached(f[1]) > 0 {
		return f[1]
	}
	return ""
}

// attached counts the processes that use the shared memory with an id.
func attached(id string) (n int) {
	data, err := os.ReadFile(sharedMemory)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 6 && f[1] == id {
			_, _ = fmt.Sscan(f[6], &n)
		}
	}
	return n
}
