package export

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// TestReportsInAZone: where people read a report, all its times are in the zone that they name, which
// it says at its foot; what programs read has UTC. A zone that there is not is refused.
func TestReportsInAZone(t *testing.T) {
	t.Parallel()
	berlin, err := Zone("Europe/Berlin", FormatHTML)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{FormatText, FormatHTML, FormatMail} {
		var b bytes.Buffer
		if err := WriteReport(&b, report(), ReportOptions{Format: format, Made: made, Zone: berlin, From: "ingest@archive.test", To: []string{"one@lab.test"}}); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(b.String(), "=\r\n", ""), "&#43;", "+")
		if !strings.Contains(text, "42 of the log, 2026-03-02 09:00:00+01:00") || strings.Count(text, "09:00:00+01:00") < 2 || strings.Contains(text, "08:00:00Z") || !strings.Contains(text, "Times are in Europe/Berlin.") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
	for _, format := range []string{FormatCSV, FormatJSON} {
		var b bytes.Buffer
		if err := WriteReport(&b, report(), ReportOptions{Format: format, Made: made, Zone: berlin}); err != nil || !strings.Contains(b.String(), "2026-03-02T08:00:00Z") {
			t.Errorf("%s: %v\n%s", format, err, b.String())
		}
	}
	for _, wrong := range [][2]string{{"Europe/Atlantis", FormatText}, {"Local", FormatHTML}, {"../etc/passwd", FormatHTML}, {"Europe/Berlin", FormatCSV}, {"Europe/Berlin", FormatJSON}, {"Europe/Berlin", ""}} {
		var e *app.Error
		if _, err := Zone(wrong[0], wrong[1]); !errors.As(err, &e) || e.Kind != app.Invalid || e.Hint == "" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if zone, err := Zone("", FormatCSV); err != nil || zone.String() != "UTC" {
		t.Errorf("%v, %v", zone, err)
	}
}
