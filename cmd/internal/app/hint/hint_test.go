package hint_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/hint"
)

// TestBatch: a batch that waits for an operator says so, with the command.
func TestBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status                  string
		open, failed, completed int64
		want                    string
	}{
		{"held", 0, 0, 0, "`accession batch release bid1`"},
		{"failed", 0, 0, 3, "`accession batch update-report bid1`"},
		{"failed", 0, 1, 3, ""},
		{"failed", 1, 0, 3, ""},
		{"failed", 0, 0, 0, ""},
		{"processing", 0, 0, 3, ""},
		{"completed", 0, 0, 3, ""},
	} {
		got := hint.Batch("bid1", c.status, c.open, c.failed, c.completed)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
