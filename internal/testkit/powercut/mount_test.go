//go:build soak && linux

package powercut_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"

	"github.com/accession-ingest/accession/internal/testkit/powercut"
)

// notPlayed is what no server here asks of its disk.
var notPlayed = []string{"XAttr", "Lseek", "DirectIO", "LocksFile", "FcntlFlock",
	"SetattrSymlink", "FallocateKeepSize", "RenameOpenDir", "Tmpfile"}

// TestSoakMount asks of the mount what programs expect of any.
func TestSoakMount(t *testing.T) {
	for name, check := range posixtest.All {
		if slices.ContainsFunc(notPlayed, func(s string) bool { return strings.Contains(name, s) }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m, err := powercut.New(uint32(os.Getuid()), uint32(os.Getgid())).At(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}()
			check(t, dir)
		})
	}
}
