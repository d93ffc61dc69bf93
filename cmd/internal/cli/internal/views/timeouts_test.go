package views

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain/setting"
)

// Timeouts say where they come from, and that processes differ.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	own := app.ConfiguredFor{Key: "download_timeout", Seconds: 1, Origin: "flag"}
	var b strings.Builder
	Timeouts(&b, app.Timeouts{Version: 3, Timeouts: []app.Timeout{
		{Attempt: "download", Seconds: 3600, Source: setting.SourceInstallation, Served: []float64{1, 2}, Own: own},
		{Attempt: "download", Seconds: 7200, Source: setting.SourceService, Served: []float64{7200}, Own: own},
		{Attempt: "download", Seconds: 7200, Source: setting.SourceService, Served: []float64{60, 7200}, Own: own},
		{Attempt: "download", Seconds: 1, Source: setting.SourceConfiguration, Own: own},
	}})
	want := `
attempt   may take  source                                configuration of this process
download  1h0m0s    installation, version 3               download_timeout 1s (flag)
download  2h0m0s    service                               download_timeout 1s (flag)
download  2h0m0s    service, the longest of 1m0s, 2h0m0s  download_timeout 1s (flag)
download  1s        configuration                         download_timeout 1s (flag)
`
	if diff := cmp.Diff(want, "\n"+b.String()); diff != "" {
		t.Error(diff)
	}
}
