package views

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// TestRestoredLogSaysWhatNoCopyHas: a log that stays shorter than it was, and events that
// cannot follow those that are lost, are told with what may still bring them back.
// Shows: P12
func TestRestoredLogSaysWhatNoCopyHas(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	RestoredLog(&b, app.Restored{Events: 3, Short: 7, Epoch: 2, Missing: []string{"job/jid0000000052/10"}, Rebuild: true})
	for _, want := range []string{"3 events were restored", "7 events less than it had", "put a newer copy of NATS or of PostgreSQL back", "epoch 2 begins",
		"job/jid0000000052/10 cannot be restored", "accession rebuild"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	RestoredLog(&b, app.Restored{Events: 3})
	if strings.Contains(b.String(), "less than it had") {
		t.Errorf("nothing is missing, and it says\n%s", b.String())
	}
}
