package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
)

// TestMailThatWasNotSent: times at which nothing has happened yet are left out, as the schemas of
// outputs have them, and not null.
func TestMailThatWasNotSent(t *testing.T) {
	t.Parallel()
	for _, v := range []any{app.Message{}, app.Callback{}, queries.Mail{}} {
		text, err := json.Marshal(v)
		if err != nil || strings.Contains(string(text), "delivered_at") || strings.Contains(string(text), "last_attempt_at") {
			t.Errorf("%T: %s %v", v, text, err)
		}
	}
}
