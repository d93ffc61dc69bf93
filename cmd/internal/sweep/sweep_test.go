package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// TestTwoSweepersAndAFinishingWorker race a thousand times for an overdue file:
// it has one outcome, exactly one of them brought it about, and the history is
// legal.
func TestTwoSweepersAndAFinishingWorker(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for range 1000 {
		w := newFixture(t, listed)
		w.limits.Download.Max = 1
		f := w.download()
		w.clock.Advance(limits.Download.Timeout + time.Millisecond)
		begin, sums := make(chan struct{}), [2]sweep.Summary{}
		var finished error
		var racing sync.WaitGroup
		for i := range sums {
			s := w.newSweeper()
			racing.Go(func() {
				<-begin
				var err error
				if sums[i], err = s.Once(w.Context()); err != nil || sums[i].Errors > 0 {
					w.Errorf("%+v, %v", sums[i], err)
				}
			})
		}
		racing.Go(func() {
			<-begin
			_, finished = w.try(domain.FinishDownload{Fence: f.Fence, Size: 20, SHA256: digest})
		})
		close(begin)
		racing.Wait()

		won := sums[0].Recovered[domain.FileIgnore] + sums[1].Recovered[domain.FileIgnore]
		want := "DISCOVERED DOWNLOADING DOWNLOADING_FAILED IGNORE"
		if finished == nil {
			won++
			want = "DISCOVERED DOWNLOADING DOWNLOADED"
		} else if refused := (*domain.Refused)(nil); !errors.As(finished, &refused) {
			t.Fatal(finished)
		}
		w.went(want)
		if won != 1 {
			t.Fatalf("%d of them say that it was they: %+v, worker: %v", won, sums, finished)
		}
		if _, err := (tables{w.log}).Candidates(t.Context(), sweep.Filter{}, "", 1); err != nil {
			t.Fatal(err)
		}
		outcomes[want]++
	}
	t.Log(outcomes)
}

// TestPagesAndLateTables: more files than go into one write, of which a worker
// finishes every third after the tables were read.
func TestPagesAndLateTables(t *testing.T) {
	t.Parallel()
	const n = 1100
	w := newFixture(t, listed)
	for i := range n {
		spec := listed
		spec.Path = fmt.Sprintf("%04d.nc", i)
		w.hash = spec.Hash()
		w.do(domain.DiscoverFile{Spec: spec})
		w.download()
	}
	w.clock.Advance(time.Hour)
	net := sweep.Limits{Default: w.limits}.Filter(domain.At(w.clock.Now()))
	found, err := tables{w.log}.Candidates(t.Context(), net, "", n)
	if err != nil || len(found) != n {
		t.Fatalf("%d candidates, %v", len(found), err)
	}
	moved := 0
	for i := 0; i < n; i += 3 {
		w.hash = found[i].Hash
		w.do(domain.FinishDownload{Fence: 2, Size: 20, SHA256: digest})
		moved++
	}
	w.sweeper.Finder = late(found)
	sum, err := w.sweeper.Once(t.Context())
	if err != nil || sum.Looked != n || sum.Moved != moved || sum.Recovered[domain.FileDownloadingFailed] != n-moved || sum.Errors != 0 {
		t.Errorf("the pass gives %+v, %v", sum, err)
	}
	sum, err = w.sweeper.Once(t.Context())
	if err != nil || sum.Moved != n || sum.Total() != 0 {
		t.Errorf("the second pass gives %+v, %v", sum, err)
	}
}

// late is a picture that does not change any more.
type late []sweep.Candidate

func (l late) Candidates(_ context.Context, _ sweep.Filter, after domain.FileHash, limit int) ([]sweep.Candidate, error) {
	for len(l) > 0 && l[0].Hash <= after {
		l = l[1:]
	}
	return l[:min(limit, len(l))], nil
}

func TestFaultsAreToldAndKeepNoFileOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.download()
	w.clock.Advance(time.Hour)
	stranger := listed
	stranger.Path = "unknown.nc"
	began := domain.At(w.clock.Now().Add(-time.Hour))
	w.sweeper.Finder = &once{{Hash: stranger.Hash(), State: domain.FileDownloading, Since: began}, {Hash: w.hash, State: domain.FileDownloading, Since: began}}
	sum, err := w.sweeper.Once(t.Context())
	if err != nil || sum.Errors != 1 || sum.Recovered[domain.FileDownloadingFailed] != 1 ||
		len(sum.Faults) != 1 || !strings.Contains(sum.Faults[0], "not in the log") {
		t.Errorf("the pass gives %+v, %v", sum, err)
	}

	known := w.sweeper.Limits
	w.sweeper.Limits = func(context.Context) (sweep.Limits, error) { return sweep.Limits{}, errAway }
	if _, err := w.sweeper.Once(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("without timeouts: %v", err)
	}
	w.sweeper.Limits, w.sweeper.Finder = known, failing{}
	if _, err := w.sweeper.Once(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("without tables: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.sweeper.Once(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
}

// once gives the same candidates to whoever asks for a first page.
type once []sweep.Candidate

func (o *once) Candidates(context.Context, sweep.Filter, domain.FileHash, int) ([]sweep.Candidate, error) {
	return *o, nil
}

var errAway = errors.New("away")

type failing struct{}

func (failing) Candidates(context.Context, sweep.Filter, domain.FileHash, int) ([]sweep.Candidate, error) {
	return nil, errAway
}

// flaky fails the first time, and ends the run from the second pass on.
type flaky struct {
	tables
	asked chan struct{}
	first sync.Once
}

func (f *flaky) Candidates(ctx context.Context, net sweep.Filter, after domain.FileHash, limit int) (found []sweep.Candidate, err error) {
	f.first.Do(func() { err = errAway })
	if err != nil {
		return nil, err
	}
	defer func() {
		select {
		case f.asked <- struct{}{}:
		default:
		}
	}()
	return f.tables.Candidates(ctx, net, after, limit)
}

// TestRun: a pass that fails is followed by others; the run ends with its context
// and leaves no goroutine.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.download()
	w.clock.Advance(time.Hour)
	finder := &flaky{tables: tables{w.log}, asked: make(chan struct{})}
	var log strings.Builder
	w.sweeper.Finder, w.sweeper.Log = finder, slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.sweeper.Run(ctx) }()
	<-finder.asked
	follow, done := context.WithCancel(t.Context())
	defer done()
	a := w.hash.Aggregate()
	for r, err := range w.log.Read(follow, eventstore.ReadOptions{Aggregate: &a, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Type == domain.EventFileDownloadFailed {
			if r.Actor != domain.DaemonActor(domain.DaemonSweeper) {
				t.Errorf("the event names %s", r.Actor)
			}
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the run ended with %v", err)
	}
	if !strings.Contains(log.String(), "could not finish its pass") {
		t.Errorf("the log says:\n%s", log.String())
	}
}
