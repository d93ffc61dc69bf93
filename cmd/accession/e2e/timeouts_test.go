package e2e

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// TestTimeoutsOfTheInstallation: of two programs one would end every attempt by its own
// configuration and the other none. Once the installation has timeouts both end the same
// attempts, a sweeper that runs from its next pass on.
func TestTimeoutsOfTheInstallation(t *testing.T) {
	t.Parallel()
	hasty := newInstallation(t, "download_timeout=1ms", "processing_timeout=1ms", "max_processing_attempts=5", "sweep_interval=10ms")
	patient := hasty.with("download_timeout=168h", "processing_timeout=168h")
	hasty.serveInProcess(run.RoleRelay, run.RoleProjector)
	sweeper := patient.serveInProcess(run.RoleSweeper)
	overdue := func(want int) {
		t.Helper()
		for _, in := range []*installation{hasty, patient} {
			waitFor(t, "the overdue attempts", func() bool {
				n, err := in.wired.Overdue(in.ctx())
				in.must(err)
				return n == want
			})
		}
	}
	sweeps := func(in *installation, want int) {
		t.Helper()
		if sum, err := run.Sweep(in.ctx(), in.cfg, slog.New(slog.DiscardHandler)); err != nil || sum.Errors+sum.Moved > 0 || sum.Total() != want {
			t.Errorf("a sweep does %+v, %v; want %d", sum, err, want)
		}
	}

	limits := domain.Limits{Max: 5}
	one, two, works := hasty.discover("one.nc"), hasty.discover("two.nc"), hasty.discover("works.nc")
	one.do(domain.StartDownload{Worker: "w", Limits: limits})
	two.do(domain.StartDownload{Worker: "w", Limits: limits})
	works.do(domain.FileAlreadyThere{Size: 1, SHA256: strings.Repeat("0", 64)})
	works.do(domain.ReadyFile{})
	works.do(domain.StartProcessing{Worker: "w"})
	hasty.shown()
	waitFor(t, "what is overdue by a configuration", func() bool {
		n, err := hasty.wired.Overdue(hasty.ctx())
		hasty.must(err)
		return n == 3
	})
	hasty.says(0, words("timeouts show"), "configuration", "download_timeout 1ms (flag)", "processing_timeout 1ms (flag)")

	for _, bad := range []string{"", "download", "download=0s", "download=1500ms", "download=169h", "upload=1h", "download=1h download=2h"} {
		patient.says(2, words("timeouts set --reason films "+bad), "such as download=6h")
	}
	patient.says(2, words("timeouts set download=1h"), "--reason")
	patient.says(0, words("timeouts set download=1h processing=1h --reason films --dry-run"), "timeouts would go from unset to download=1h processing=1h")
	patient.says(0, words("timeouts show -o json"), `"version": 0`, `"seconds": 604800`)
	patient.says(0, words("timeouts set download=1h processing=1h --reason films"), "timeouts is download=1h processing=1h now, was unset")
	patient.says(3, words("timeouts set download=1h --reason films"), "accession timeouts show")
	for _, in := range []*installation{hasty, patient} {
		in.says(0, words("timeouts show"), "installation, version 1", "1h")
	}
	if n, err := hasty.wired.Overdue(hasty.ctx()); err != nil || n != 0 {
		t.Fatalf("%d attempts are overdue by a process's own configuration, %v", n, err)
	}
	sweeps(hasty, 0)

	hasty.says(0, words("timeouts set download=1s --reason short"), "download=1s processing=1h now, was download=1h processing=1h")
	one.swept(domain.FileDownloadingFailed)
	two.swept(domain.FileDownloadingFailed)
	sweeper.stop()
	one.do(domain.StartDownload{Worker: "w", Limits: limits})
	hasty.shown()
	overdue(1)
	sweeps(hasty, 1)
	sweeps(patient, 0)
	if got, want := works.went(), "DISCOVERED DOWNLOADED READY PROCESSING"; got != want {
		t.Errorf("what has time went\n%s, want\n%s", got, want)
	}

	// Damaged timeouts are repaired from the log; until then no attempt ends.
	one.do(domain.StartDownload{Worker: "w", Limits: limits})
	hasty.shown()
	_, err := hasty.zookeeper().Set(hasty.cfg.ZooKeeperRoot+"/config/timeouts", []byte("{garbage"), -1)
	hasty.must(err)
	if sum, err := run.Sweep(hasty.ctx(), hasty.cfg, slog.New(slog.DiscardHandler)); !errors.Is(err, eventstore.ErrBroken) || sum.Total() > 0 {
		t.Errorf("a sweep by timeouts that cannot be read: %+v, %v", sum, err)
	}
	hasty.says(1, words("timeouts show"), "accession verify")
	hasty.mends("timeouts that cannot be read", consistency.SettingWrong)
	overdue(1)
	hasty.shown()
	for query, want := range map[string]int{
		"select download_seconds from accession.setting where kind = 'timeouts'":                                                                                                              1,
		"select processing_seconds from accession.setting where kind = 'timeouts'":                                                                                                            3600,
		"select timeout_seconds from report.overdue_files where path = 'works.nc'":                                                                                                            3600,
		"select count(*) from report.overdue_files where seconds_running > timeout_seconds":                                                                                                   1,
		"select count(*) from report.settings_history where kind = 'timeouts' and changed_by like 'user/%' and why in ('films', 'short')":                                                     2,
		"select (value -> 'timeouts' ->> 'download_seconds')::bigint from report.settings_history where kind = 'timeouts' and (previous -> 'timeouts' ->> 'download_seconds')::bigint = 3600": 1,
	} {
		if got := hasty.count(query); got != want {
			t.Errorf("%s gives %d, want %d", query, got, want)
		}
	}
	hasty.agree()
}
