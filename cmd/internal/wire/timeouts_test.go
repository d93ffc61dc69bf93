package wire

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestTimeoutsOfTheInstallation: a sweep from cron, whose configuration is another, ends the
// attempts that the service would end: by the setting, or by the configuration of the
// processes that serve. Only where neither is known its own counts, and it says so. Timeouts
// that cannot be read end nothing.
func TestTimeoutsOfTheInstallation(t *testing.T) {
	t.Parallel()
	server, root := os.Getenv("ACCESSION_TEST_ZOOKEEPER"), "/test-"+uuid.NewString()
	removedAfter(t, root)
	tree, err := zklive.Open(t.Context(), zklive.Config{Servers: []string{server}, Root: root})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	t.Cleanup(func() { _ = tree.Close() })
	profiles, err := filepath.Abs("../../../deploy/profiles")
	must(err)
	_, err = tree.ReserveBatchID(t.Context()) // a tree that has been written to is not compared with a log
	must(err)
	process := func(download, processing string, roles ...string) *Installation {
		t.Helper()
		cfg, err := config.Load(config.Sources{Flags: map[string]string{"zookeeper": server, "zookeeper_root": root,
			"download_timeout": download, "processing_timeout": processing, "profiles_dir": profiles}})
		must(err)
		in := New(cfg, slog.New(slog.DiscardHandler), roles...)
		t.Cleanup(func() { _ = in.Close() })
		_, err = in.LiveState(t.Context())
		must(err)
		return in
	}
	cron := process("1ms", "1ms")
	says := func(when string, download, processing time.Duration, source string, notes ...string) {
		t.Helper()
		limits, err := cron.fileLimits(t.Context())
		must(err)
		if got := limits.Of("").Download.Timeout; got != download {
			t.Errorf("%s: a download may take %v, want %v", when, got, download)
		}
		if got := limits.Of("").Processing.Timeout; got != processing {
			t.Errorf("%s: processing may take %v, want %v", when, got, processing)
		}
		if !slices.EqualFunc(limits.Notes, notes, strings.Contains) {
			t.Errorf("%s: the notes are %q, want %q", when, limits.Notes, notes)
		}
		shown, err := cron.shownTimeouts(t.Context())
		must(err)
		for _, one := range shown.Timeouts {
			if one.Source != source || one.Own.Seconds != 0.001 || one.Own.Origin != "flag" {
				t.Errorf("%s: shown is %+v, want the source %s", when, one, source)
			}
		}
	}

	process("168h", "168h", "relay", "projector")
	alone := "is download_timeout of this process, 1ms: none is set"
	says("alone", time.Millisecond, time.Millisecond, setting.SourceConfiguration, alone, strings.ReplaceAll(alone, "download", "processing"))
	works := process("2h", "6h", RoleDaemons, "relay")
	says("beside a worker", 2*time.Hour, 6*time.Hour, setting.SourceService)
	sweeps := process("90m", "6h0m0.0015s", RoleSweeper)
	says("beside a sweeper", 2*time.Hour, 6*time.Hour+1500*time.Microsecond, setting.SourceService, "of 1h30m0s, 2h0m0s;", "of 6h0m0s, 6h0m0.0015s;")
	must(works.Close())
	says("when the worker has ended", 90*time.Minute, 6*time.Hour+1500*time.Microsecond, setting.SourceService)

	handler := &eventstore.Handler{Live: tree, Clock: time.Now, NewID: newID}
	_, err = handler.Timeouts(t.Context(), domain.Timeouts{DownloadSeconds: 60, ProcessingSeconds: 120}, "films", eventstore.Meta{Actor: "user/test"})
	must(err)
	says("once it is set", time.Minute, 2*time.Minute, setting.SourceInstallation)
	must(sweeps.Close())
	says("set, and no process serves", time.Minute, 2*time.Minute, setting.SourceInstallation)

	conn, _, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false))
	must(err)
	t.Cleanup(conn.Close)
	_, err = conn.Set(root+"/config/timeouts", []byte("{garbage"), -1)
	must(err)
	if _, err := cron.fileLimits(t.Context()); !errors.Is(err, eventstore.ErrBroken) {
		t.Errorf("timeouts that cannot be read: %v", err)
	}
}
