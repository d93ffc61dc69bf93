package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// TestStatusIsDrawnAnew: a terminal gets only the sequences that move its cursor, and
// nothing that an outsider wrote.
func TestStatusIsDrawnAnew(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	screen := render.Screen{Writer: export.NewPlain(&b), Columns: 80}
	s := status.Status{Oldest: []standing.Oldest{{Kind: domain.KindBatch, State: "pending", ID: "bid0000000001", Seconds: 90, Why: "\x1b[2Jno space"}},
		Standing: []standing.Line{{Code: standing.CodePaused, What: "queue notify is paused by \x1b]0;x", Remedy: "accession queue resume notify"}}}
	if err := render.Overwrite(screen, func(w io.Writer) { views.Status(w, s) }); err != nil {
		t.Fatal(err)
	}
	const cursorHome, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	text := b.String()
	for _, want := range []string{cursorHome, "bid0000000001", "pending (batch)", "1m30s", "no space", "`accession queue resume notify`" + clearLine + "\n", clearBelow} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%q", want, text)
		}
	}
	left := strings.NewReplacer(cursorHome, "", clearLine, "", clearBelow, "").Replace(text)
	if strings.ContainsRune(left, '\x1b') {
		t.Errorf("an outsider's control characters pass:\n%q", left)
	}
}

// TestStatusThatIsNotKnown: what no server could say is not shown as if it were well.
func TestStatusThatIsNotKnown(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	views.Status(&b, status.Status{Types: &standing.Types{Stream: "T", Error: "another log"}})
	for _, want := range []string{"what waits longest is not known", "attempts at files are not known", "T is not known: another log"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
