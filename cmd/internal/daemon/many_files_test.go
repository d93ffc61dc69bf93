package daemon

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// deadlineLog counts how many files are read or written under each deadline.
type deadlineLog struct {
	eventstore.Log
	mu    sync.Mutex
	under map[time.Time]int
}

func (l *deadlineLog) count(ctx context.Context, files int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := ctx.Deadline()
	l.under[at] += files
}

func (l *deadlineLog) Read(ctx context.Context, o eventstore.ReadOptions) iter.Seq2[domain.Recorded, error] {
	l.count(ctx, 1)
	return l.Log.Read(ctx, o)
}

func (l *deadlineLog) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	l.count(ctx, len(events))
	return l.Log.Append(ctx, events)
}

// TestDeadlinesOfManyFiles: the time for an object's files grows with their number, because
// each part of them has a deadline of its own.
// Shows: P8
func TestDeadlinesOfManyFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	log := &deadlineLog{Log: w.history, under: map[time.Time]int{}}
	id := w.aJobIn(domain.JobDownloading)
	task := &JobTask{task: task{Log: w.cfg.Log, actor: "daemon/test", trace: eventstore.NewTrace()}, Job: w.job(id), Profile: w.set[tides]}
	list := make([]payload.File, 2*filesPart+filesPart/2)
	for i := range list {
		list[i] = payload.File{Name: fmt.Sprintf("f%05d.txt", i), URL: w.web.URL + "/f.txt"}
	}
	for _, what := range []string{"discovery", "reading"} {
		cfg := w.cfg
		cfg.Files = &files.Handler{Log: log, Clock: w.clock.Now, NewID: rand.Text} // remembers nothing
		r, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		fs, err := r.steps.discovered(t.Context(), task, list)
		if err != nil {
			t.Fatal(what, err)
		}
		for i, f := range fs.state {
			if f.State != domain.FileDiscovered || f.Spec.Path != list[i].Name {
				t.Fatalf("%s: file %d is %+v", what, i, f)
			}
		}
		if what == "reading" {
			err = fs.inState(t.Context(), "", domain.FileDiscovered, domain.FileAlreadyThere{Size: 1, SHA256: hexOf("f")})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for at, n := range log.under {
		if n > filesPart || at.IsZero() {
			t.Errorf("%d files under the deadline %v, more than %d", n, at, filesPart)
		}
	}
	if len(log.under) < 3 {
		t.Errorf("%d deadlines", len(log.under))
	}
}

// TestDownloadStopsAtTheReserve: a transfer ends while too little of the disk is free, uses
// nothing up, and the job waits; with room it goes on.
// Shows: P8
func TestDownloadStopsAtTheReserve(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	enough := w.cfg.SpaceReserve
	reserve := func(bytes int64) {
		w.cfg.SpaceReserve = bytes
		var err error
		if w.r, err = New(w.cfg); err != nil {
			t.Fatal(err)
		}
	}
	reserve(1 << 62)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobDownloading, domain.CodeSpaceShort)
	for _, f := range w.fileStatesOf(id) {
		if f.State != domain.FileDownloadingFailed || f.DownloadAttempts != 0 {
			t.Errorf("a file is %+v", f)
		}
	}
	reserve(enough)
	w.clock.Advance(15 * time.Minute)
	w.untilMoved(id, domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
}

// TestManifestsShareMemory: a step whose manifest finds no room beside those of others
// releases its job, and nothing is used up or counted as unknown; with room it goes on.
// Shows: P8
func TestManifestsShareMemory(t *testing.T) {
	t.Parallel()
	for _, at := range []domain.JobState{domain.JobPending, domain.JobEstimating, domain.JobDownloading} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords, func(w *fixture) { w.cfg.ManifestMemory = 1 << 10 })
			w.web.serve("/good.txt", "good")
			manifest := manifestOf("mrt-ingest-manifest", w.web.URL+"/good.txt")
			w.web.serve("/o.checkm", manifest)
			w.web.serve("/other.checkm", manifest)
			id := w.jobIn(at, domain.TypeObjectManifest, "/o.checkm")
			other, release := w.r.steps.memory.Step(t.Context())
			p := w.set[tides]
			p.Limits.MaxManifestBytes = 1 << 20
			w.web.serve("/all.checkm", manifest+strings.Repeat("# \n", 1<<10))
			if _, err := w.r.steps.FetchManifest(other, p, payload.Payload{URL: w.web.URL + "/all.checkm"}); err != nil {
				t.Fatal(err)
			}
			w.turn(at.Daemon())
			if j := w.job(id); j.State != at || j.Reason != nil && j.Reason.Class != domain.ClassWait {
				t.Errorf("without room it is %s: %+v", j.State, j.Reason)
			}
			release()
			w.clock.Advance(15 * time.Minute)
			if j := w.untilMoved(id, at.Daemon()); j.State == domain.JobFailed {
				t.Errorf("with room it fails: %+v", j.Reason)
			}
		})
	}
}

// TestTimeToStoreManyFiles: the time to store an object grows with the number of its files,
// however small they are.
// Shows: P8
func TestTimeToStoreManyFiles(t *testing.T) {
	t.Parallel()
	const many = 100_000
	p := processingFiles{&fileStates{state: make([]domain.File, many)}}
	source := payload.Source{StepTimeout: time.Second}
	begun, limit := time.Now(), time.Duration(0)
	err := source.InTime(t.Context(), p.weight(), "store", "x", func(ctx context.Context) error {
		until, _ := ctx.Deadline()
		limit = until.Sub(begun)
		return nil
	})
	if want := many * time.Second / 11; err != nil || limit < want {
		t.Errorf("%v to store %d files, want %v (%v)", limit, many, want, err)
	}
}
