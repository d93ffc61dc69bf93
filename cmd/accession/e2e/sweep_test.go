package e2e

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// life drives one file of an open directory as a worker does.
type life struct {
	*installation
	files *files.Handler
	hash  domain.FileHash
	seen  uint64 // place of the last event that was waited for
}

func (in *installation) discover(path string) *life {
	in.t.Helper()
	live, err := in.wired.LiveState(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	if _, err := live.ReserveJobIDs(in.ctx(), 1); err != nil { // a file comes with a job
		in.t.Fatal(err)
	}
	files, err := in.wired.FileHandler(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	spec := domain.FileSpec{Source: "http://files.test/", Path: path, Size: 1}
	l := &life{installation: in, files: files, hash: spec.Hash()}
	l.do(domain.DiscoverFile{Spec: spec})
	return l
}

func (l *life) do(cmd domain.FileCommand) domain.File {
	l.t.Helper()
	r, err := l.files.File(l.ctx(), l.hash, cmd, eventstore.Meta{Actor: "daemon/test"})
	if err != nil {
		l.t.Fatalf("%T: %v", cmd, err)
	}
	return r.File
}

// swept waits until the sweeper has brought the file to a state.
func (l *life) swept(to domain.FileState) {
	l.t.Helper()
	log, err := l.wired.Log(l.ctx())
	if err != nil {
		l.t.Fatal(err)
	}
	a := l.hash.Aggregate()
	for r, err := range log.Read(l.ctx(), eventstore.ReadOptions{From: l.seen + 1, Aggregate: &a, Follow: true}) {
		if err != nil {
			l.t.Fatalf("wait for %s: %v", to, err)
		}
		l.seen = r.Seq
		if m, _ := domain.MoveOfFile(r.Data); m.To == to && r.Actor == domain.DaemonActor(domain.DaemonSweeper) {
			return
		}
	}
}

func (l *life) went() string {
	l.t.Helper()
	log, err := l.wired.Log(l.ctx())
	if err != nil {
		l.t.Fatal(err)
	}
	var states []string
	a := l.hash.Aggregate()
	for r, err := range log.Read(l.ctx(), eventstore.ReadOptions{Aggregate: &a}) {
		if err != nil {
			l.t.Fatal(err)
		}
		m, _ := domain.MoveOfFile(r.Data)
		states = append(states, string(m.To))
	}
	return strings.Join(states, " ")
}

// TestSweeper: workers that are never heard of again, on real servers. Two services
// sweep, and the command does too; each attempt is ended once, the last one with
// both its steps.
func TestSweeper(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "download_timeout=5ms", "processing_timeout=5ms", "sweep_interval=10ms",
		"max_download_attempts=2", "max_processing_attempts=2")
	in.serveInProcess(run.RoleProjector, run.RoleSweeper)
	in.serveInProcess(run.RoleSweeper)
	limits := domain.Limits{Max: 2}
	digest := strings.Repeat("0", 64)

	down, up := in.discover("lost-while-downloading.nc"), in.discover("lost-while-processing.nc")
	slow := down.do(domain.StartDownload{Worker: "w", Limits: limits})
	down.swept(domain.FileDownloadingFailed)
	_, err := down.files.File(in.ctx(), down.hash, domain.FinishDownload{Fence: slow.Fence, Size: 1, SHA256: digest}, eventstore.Meta{Actor: "daemon/test"})
	if refused := (*domain.Refused)(nil); !errors.As(err, &refused) {
		t.Fatalf("a worker that comes late is told %v", err)
	}
	down.do(domain.StartDownload{Worker: "w", Limits: limits})
	if sum, err := run.Sweep(in.ctx(), in.cfg, slog.New(slog.DiscardHandler)); err != nil || sum.Errors > 0 || sum.Now.IsZero() {
		t.Errorf("a pass gives %+v, %v", sum, err)
	}
	down.swept(domain.FileIgnore)
	if got, want := down.went(), "DISCOVERED DOWNLOADING DOWNLOADING_FAILED DOWNLOADING DOWNLOADING_FAILED IGNORE"; got != want {
		t.Errorf("it went\n%s, want\n%s", got, want)
	}

	up.do(domain.FileAlreadyThere{Size: 1, SHA256: digest})
	up.do(domain.ReadyFile{})
	up.do(domain.StartProcessing{Worker: "w"})
	up.swept(domain.FileReady)
	up.do(domain.StartProcessing{Worker: "w"})
	up.swept(domain.FileAbandoned)
	if got, want := up.went(), "DISCOVERED DOWNLOADED READY PROCESSING PROCESSING_FAILED READY PROCESSING PROCESSING_FAILED ABANDONED"; got != want {
		t.Errorf("it went\n%s, want\n%s", got, want)
	}

	done, err := in.app.RequeueFile(in.ctx(), down.hash, "the server is back")
	if err != nil || done.State != "DISCOVERED" || done.Row != "O1" {
		t.Errorf("requeue gives %+v, %v", done, err)
	}
	in.agree()
}
