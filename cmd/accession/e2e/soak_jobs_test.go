//go:build soak && linux && !race

package e2e

import "testing"

// TestSoakJobsLeaveNothing is TestJobsLeaveNothing with twenty thousand jobs, which stay
// in ZooKeeper, after four thousand that fill the caches.
// Shows: P8
func TestSoakJobsLeaveNothing(t *testing.T) {
	const warm, batches, rows = 40, 200, 100
	now := jobsLeaveNothing(t, "", warm, batches, rows, 0)
	figure(t, "after %d jobs a heap of %d MiB, %d goroutines, %d open files", batches*rows, now.heap>>20, now.goroutines, now.files)
}
