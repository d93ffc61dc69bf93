package notify_test

import (
	"path/filepath"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/internal/testkit/synced"
)

// TestMailIsDurable: a mail that was delivered outlasts a power cut.
// Shows: P6
func TestMailIsDurable(t *testing.T) {
	t.Parallel()
	synced.Run(t, func(dir string) {
		if _, err := (notify.MailDrop{Dir: filepath.Join(dir, "mail", "drop")}).Deliver(report()); err != nil {
			t.Fatal(err)
		}
	})
}
