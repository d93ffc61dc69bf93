package slots

import (
	"testing"

	"github.com/accession-ingest/accession/projections/query"
)

// TestReasonOfASlot: a reason is said with its code, also where that is all there is of it.
func TestReasonOfASlot(t *testing.T) {
	t.Parallel()
	code, message, none := "missed", "no file came", ""
	for _, r := range []struct {
		code, message *string
		want          string
	}{{&code, &message, "missed: no file came"}, {&code, nil, "missed"}, {&code, &none, "missed"}, {nil, &message, "no file came"}, {nil, nil, ""}} {
		var row query.SlotRow
		row.ReasonCode, row.ReasonMessage = r.code, r.message
		if got := of(row).Reason; got != r.want {
			t.Errorf("%q, want %q", got, r.want)
		}
	}
}
