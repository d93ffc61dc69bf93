package e2e

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestSweepsEndTheSameAttempts: by its own configuration one program would end every attempt
// and the other none. Both end those that the service ends, and once the installation has
// timeouts, those that they end; the tables show them.
func TestSweepsEndTheSameAttempts(t *testing.T) {
	t.Parallel()
	hasty := newInstallation(t, "download_timeout=1ms", "processing_timeout=1ms", "max_processing_attempts=5", "sweep_interval=10ms")
	patient := hasty.with("download_timeout=168h", "processing_timeout=168h")
	hasty.serveInProcess(run.RoleRelay, run.RoleProjector)
	sweeper := patient.serveInProcess(run.RoleSweeper)
	overdue := func(want int, by ...*installation) {
		t.Helper()
		for _, in := range by {
			waitFor(t, "the overdue attempts", func() bool {
				n, err := in.wired.Overdue(in.ctx())
				in.must(err)
				return n == want
			})
		}
	}
	sweeps := func(want int) {
		t.Helper()
		if sum, err := run.Sweep(hasty.ctx(), hasty.cfg, slog.New(slog.DiscardHandler)); err != nil || sum.Errors+sum.Moved+len(sum.Notes) > 0 || sum.Total() != want {
			t.Errorf("a sweep does %+v, %v; want %d", sum, err, want)
		}
	}

	limits := domain.Limits{Max: 5}
	one, works := hasty.discover("one.nc"), hasty.discover("works.nc")
	one.do(domain.StartDownload{Worker: "w", Limits: limits})
	works.do(domain.FileAlreadyThere{Size: 1, SHA256: strings.Repeat("0", 64)})
	works.do(domain.ReadyFile{})
	works.do(domain.StartProcessing{Worker: "w"})
	hasty.shown()
	sweeps(0)
	overdue(0, hasty, patient)
	sweeper.stop()
	overdue(2, hasty) // each by its own: none serves
	overdue(0, patient)

	hasty.says(0, words("timeouts set download=1s processing=1h --reason films"), "timeouts is download=1s processing=1h now, was unset")
	hasty.says(0, words("timeouts show"), "installation, version 1", "1h", "download_timeout 1ms (flag)")
	overdue(1, hasty, patient)
	sweeps(1)
	one.swept(domain.FileDownloadingFailed)
	one.do(domain.StartDownload{Worker: "w", Limits: limits})
	patient.serveInProcess(run.RoleSweeper)
	one.swept(domain.FileDownloadingFailed)
	if got, want := works.went(), "DISCOVERED DOWNLOADED READY PROCESSING"; got != want {
		t.Errorf("what has time went\n%s, want\n%s", got, want)
	}
	hasty.shown()
	for query, want := range map[string]int{
		"select download_seconds from accession.setting where kind = 'timeouts'":                                                                1,
		"select processing_seconds from accession.setting where kind = 'timeouts'":                                                              3600,
		"select timeout_seconds from report.overdue_files where path = 'works.nc'":                                                              3600,
		"select count(*) from report.overdue_files where seconds_running > timeout_seconds":                                                     0,
		"select count(*) from report.settings_history where kind = 'timeouts' and changed_by like 'user/%' and why = 'films'":                   1,
		"select (value -> 'timeouts' ->> 'download_seconds')::bigint from report.settings_history where kind = 'timeouts' and previous is null": 1,
	} {
		if got := hasty.count(query); got != want {
			t.Errorf("%s gives %d, want %d", query, got, want)
		}
	}
	hasty.agree()
}
