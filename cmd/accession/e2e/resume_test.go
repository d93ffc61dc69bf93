//go:build !race

// The processes that die here are built without the race detector in any case.

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestDownloadOfDeadProcesses: a process is killed when a server has broken off within a file. The one
// after it requests what is missing and no more, and what is stored is the whole file.
// Shows: P1 P13
func TestDownloadOfDeadProcesses(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	id := o.deposit("cut")
	o.dies("store/begun/note/after", nil, "serve")
	o.finish()
	o.mu.Lock()
	ranges := slices.Clone(o.ranges["1"])
	o.mu.Unlock()
	if want := []string{"", fmt.Sprintf("bytes=%d-", halfSent)}; !slices.Equal(ranges, want) {
		t.Errorf("requested %q, want %q", ranges, want)
	}
	v := o.rest(id)
	if len(v.Jobs) != 1 {
		t.Fatalf("%+v", v)
	}
	o.holds(v.Jobs[0], map[string]string{"half.txt": halfText})
	if left, err := filepath.Glob(filepath.Join(o.dir, "work", string(id), "*")); err != nil || len(left) != 0 {
		t.Errorf("the completed job has left %q, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "work")); err != nil {
		t.Error(err)
	}
	o.sound()
}
