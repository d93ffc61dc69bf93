//go:build soak && linux && !race

package e2e

import "testing"

// TestSoakJobOfHundredThousandFiles: a job of a hundred thousand files ends, although its
// deadlines are those of every job.
func TestSoakJobOfHundredThousandFiles(t *testing.T) {
	in := newInstallation(t)
	in.editProfile("identifier:", "limits: {max_files: 100000}\nidentifier:")
	in.jobOfFiles(100_000)
}

// TestSoakFileOf4GiB: a process that has stored a file of 64 MiB needs no more memory for one of
// 4 GiB. The file is on the disk twice, below the directory of temporary files.
// Shows: P8
func TestSoakFileOf4GiB(t *testing.T) {
	small, large := memoryOfFiles(t, 64<<20, 4<<30)
	figure(t, "at most %d MiB of memory for a file of 64 MiB, %d for one of 4 GiB", small>>20, large>>20)
}
