package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

func TestSweepIsSummedUp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	views.Swept(&b, run.Swept{Looked: 9, Moved: 1, Errors: 1, Faults: []string{"file/x:\x1b no"}, Notes: []string{"its own"},
		Recovered: map[domain.FileState]int{domain.FileAbandoned: 1, domain.FileDownloadingFailed: 6}})
	want := `checked                 9
now DOWNLOADING_FAILED  6
now ABANDONED           1
moved on                1
errors                  1
                        file/x:� no
                        its own
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
