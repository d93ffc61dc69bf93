package sweep_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// limits are those of most tests.
var limits = domain.FileLimits{
	Download:   domain.Limits{Max: 3, Timeout: 10 * time.Minute},
	Processing: domain.Limits{Max: 2, Timeout: 20 * time.Minute},
}

// fixture is a log, a clock that moves when it is told to, one file and a worker.
type fixture struct {
	*testing.T
	clock   *memory.ManualClock
	log     *memory.Log
	worker  *files.Handler
	sweeper *sweep.Sweeper
	hash    domain.FileHash
	limits  domain.FileLimits

	mu   sync.Mutex
	gone map[entry.State]int // entries whose workers are gone, by the state that they are brought to
}

// entries stands for the compute queue.
func (w *fixture) entries(context.Context) (map[entry.State]int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := w.gone
	w.gone = nil
	return gone, nil
}

// newFixture returns one in which the file of a listing, or of a job, is discovered.
func newFixture(t *testing.T, spec domain.FileSpec) *fixture {
	t.Helper()
	clock := memory.NewManualClock(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	w := &fixture{T: t, clock: clock, log: memory.NewLog(clock), hash: spec.Hash(), limits: limits}
	w.worker = storetest.NewFileHandler(w.log)
	w.sweeper = w.newSweeper()
	w.do(domain.DiscoverFile{Spec: spec})
	return w
}

// listed is a file of an open directory.
var listed = domain.FileSpec{Source: "http://files.test/", Path: "a.nc", URL: "http://files.test/a.nc", Size: 20}

func (w *fixture) newSweeper() *sweep.Sweeper {
	return &sweep.Sweeper{Files: storetest.NewFileHandler(w.log), Finder: tables{w.log}, Slots: storetest.NewFileHandler(w.log).Slots(), Windows: windows{w.log}, Entries: w.entries, Interval: time.Millisecond,
		Limits: always(w.limits), Log: slog.New(slog.DiscardHandler)}
}

// always returns the same limits for each pass.
func always(l domain.FileLimits) func(context.Context) (sweep.Limits, error) {
	return func(context.Context) (sweep.Limits, error) { return sweep.Limits{Default: l}, nil }
}

// try gives a command to the worker.
func (w *fixture) try(cmd domain.FileCommand) (domain.File, error) {
	r, err := w.worker.File(w.Context(), w.hash, cmd, eventstore.Meta{Actor: "daemon/test"})
	return r.File, err
}

// do gives a command that must not be refused.
func (w *fixture) do(cmd domain.FileCommand) domain.File {
	w.Helper()
	f, err := w.try(cmd)
	if err != nil {
		w.Fatal(err)
	}
	return f
}

// refused fails the test unless the command is refused with the code.
func (w *fixture) refused(cmd domain.FileCommand, code domain.Code) {
	w.Helper()
	_, err := w.try(cmd)
	var refused *domain.Refused
	if !errors.As(err, &refused) || refused.Code != code {
		w.Fatalf("%T gives %v, want a refusal with code %s", cmd, err, code)
	}
}

// sweep makes a pass that must leave the file in the state: "" = it must not touch it.
func (w *fixture) sweep(want domain.FileState) {
	w.Helper()
	sum, err := w.sweeper.Once(w.Context())
	if err != nil || sum.Errors+sum.Moved != 0 {
		w.Fatalf("the pass gives %+v, %v", sum, err)
	}
	if want == "" && sum.Looked != 0 || want != "" && (sum.Looked != 1 || sum.Total() != 1 || sum.Recovered[want] != 1) {
		w.Fatalf("the pass gives %+v, want %q", sum, want)
	}
}

// Steps of a worker.
func (w *fixture) download() domain.File {
	w.Helper()
	return w.do(domain.StartDownload{Worker: "w", Limits: w.limits.Download})
}

func (w *fixture) fetched(f domain.File) {
	w.Helper()
	w.do(domain.FinishDownload{Fence: f.Fence, Size: 20, SHA256: digest})
}

func (w *fixture) process() domain.File {
	w.Helper()
	return w.do(domain.StartProcessing{Worker: "w"})
}

func broken() domain.Reason {
	return domain.Reason{Class: domain.ClassSystem, Code: "broken", Message: "it broke"}
}

// path gives the states that the file went through, as its history tells them.
func (w *fixture) path() string {
	w.Helper()
	var states []string
	a := w.hash.Aggregate()
	for r, err := range w.log.Read(w.Context(), eventstore.ReadOptions{Aggregate: &a}) {
		if err != nil {
			w.Fatal(err)
		}
		m, _ := domain.MoveOfFile(r.Data)
		states = append(states, string(m.To))
	}
	return strings.Join(states, " ")
}

func (w *fixture) went(want ...string) {
	w.Helper()
	if got := w.path(); got != strings.Join(want, " ") {
		w.Errorf("it went\n%s, want\n%s", got, strings.Join(want, " "))
	}
}

// tables finds candidates as the database does, by folding the log.
type tables struct{ log eventstore.Log }

func (f tables) Candidates(ctx context.Context, filter sweep.Filter, after domain.FileHash, limit int) ([]sweep.Candidate, error) {
	files := map[domain.Aggregate]domain.File{}
	for r, err := range f.log.Read(ctx, eventstore.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		if r.Aggregate.Kind != domain.KindFile {
			continue
		}
		next, err := domain.EvolveFile(files[r.Aggregate], r)
		if next.Hash == "" || err != nil {
			return nil, errors.Join(errors.New("a history is not legal"), err)
		}
		files[r.Aggregate] = next
	}
	var found []sweep.Candidate
	for _, f := range files {
		c := sweep.Candidate{Hash: f.Hash, State: f.State, JobID: f.Spec.JobID}
		in := false
		switch f.State {
		case domain.FileDownloading:
			c.Attempts, c.Since = f.DownloadAttempts, f.DownloadStarted
			in = f.DownloadStarted.Before(filter.DownloadBefore.Time)
		case domain.FileProcessing:
			c.Attempts, c.Since = f.ProcessingAttempts, f.ProcessingStarted
			in = f.ProcessingStarted.Before(filter.ProcessingBefore.Time)
		case domain.FileDownloadingFailed:
			c.Attempts, c.Since = f.DownloadAttempts, f.Failed
			in = f.Spec.JobID == "" && f.DownloadAttempts >= filter.DownloadAttempts
		case domain.FileProcessingFailed:
			c.Attempts, c.Since = f.ProcessingAttempts, f.Failed
			in = f.Spec.JobID == ""
		}
		if in && f.Hash > after {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b sweep.Candidate) int { return strings.Compare(string(a.Hash), string(b.Hash)) })
	return found[:min(limit, len(found))], nil
}
