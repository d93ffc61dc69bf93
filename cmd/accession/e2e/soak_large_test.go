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
