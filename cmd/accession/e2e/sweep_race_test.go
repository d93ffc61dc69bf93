package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// one is a table in which one file is overdue.
type one sweep.Candidate

func (o one) Candidates(context.Context, sweep.Filter, domain.FileHash, int) ([]sweep.Candidate, error) {
	return []sweep.Candidate{sweep.Candidate(o)}, nil
}

// noWindows are the windows of an installation without slots.
type noWindows struct{}

func (noWindows) Due(context.Context, domain.Time, slot.ID, int) ([]sweep.Due, error) {
	return nil, nil
}

func noEntries(context.Context) (map[entry.State]int, error) { return nil, nil }

func (noWindows) CaughtUp(context.Context) error { return nil }

// TestTwoSweepersAndAFinishingWorker race a thousand times in the real log for an
// overdue file: it has one outcome, exactly one of them brought it about, and the
// history is legal.
func TestTwoSweepersAndAFinishingWorker(t *testing.T) {
	t.Parallel()
	const rounds = 1000
	in := newInstallation(t)
	ctx := in.ctx()
	log, err := in.wired.Log(ctx)
	if err != nil {
		t.Fatal(err)
	}
	order := eventstore.Meta{Actor: "daemon/test"}
	step := domain.Limits{Max: 1, Timeout: time.Minute}
	var racers [3]*files.Handler // the worker, and two sweepers
	for i := range racers {
		racers[i] = &files.Handler{Log: log, Clock: time.Now, Epoch: 1, NewID: uuid.NewString}
	}
	worker, sweepers := racers[0], racers[1:]
	found, starts, hashes := make([]domain.DiscoverFile, rounds), make([]files.Request, rounds), make([]domain.FileHash, rounds)
	for i := range rounds {
		spec := domain.FileSpec{Source: "http://files.test/", Path: fmt.Sprintf("%04d.nc", i)}
		found[i], hashes[i] = domain.DiscoverFile{Spec: spec}, spec.Hash()
		starts[i] = files.Request{Hash: hashes[i], Command: domain.StartDownload{Worker: "w", Limits: step}}
	}
	if _, err := worker.DiscoverAll(ctx, found, order); err != nil {
		t.Fatal(err)
	}
	started, err := worker.All(ctx, starts, order)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sweepers { // they know the files, so that none has a start
		if _, err := s.Files(ctx, hashes); err != nil {
			t.Fatal(err)
		}
	}
	now, err := worker.Now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	late := domain.At(now.Add(time.Hour))

	var mu sync.Mutex
	wins := map[domain.FileState]int{}
	var some errgroup.Group // of the races at once
	some.SetLimit(16)
	race := func(i int, hash domain.FileHash) error {
		var racing sync.WaitGroup
		var sums [2]sweep.Summary
		var finished error
		begin := make(chan struct{})
		for n, files := range sweepers {
			s := sweep.Sweeper{Files: files, Finder: one{Hash: hash, State: domain.FileDownloading}, Slots: files.Slots(), Windows: noWindows{}, Entries: noEntries, Log: slog.New(slog.DiscardHandler),
				Limits: func(context.Context) (sweep.Limits, error) {
					return sweep.Limits{Default: domain.FileLimits{Download: step, Processing: step}}, nil
				}}
			racing.Go(func() {
				<-begin
				var err error
				if sums[n], err = s.Sweep(ctx, late); err != nil || sums[n].Errors > 0 {
					t.Errorf("%+v, %v", sums[n], err)
				}
			})
		}
		racing.Go(func() {
			<-begin
			_, finished = worker.File(ctx, hash, domain.FinishDownload{Fence: started[i].File.Fence, Size: 20, SHA256: strings.Repeat("0", 64)}, order)
		})
		close(begin)
		racing.Wait()
		won, outcome := sums[0].Recovered[domain.FileIgnore]+sums[1].Recovered[domain.FileIgnore], domain.FileIgnore
		if refused := (*domain.Refused)(nil); finished == nil {
			won, outcome = won+1, domain.FileDownloaded
		} else if !errors.As(finished, &refused) {
			return finished
		}
		if won != 1 {
			return fmt.Errorf("%d of them say that it was they: %+v, worker: %w", won, sums, finished)
		}
		mu.Lock()
		defer mu.Unlock()
		wins[outcome]++
		return nil
	}
	for i, hash := range hashes {
		some.Go(func() error { return race(i, hash) })
	}
	if err := some.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Log(wins)

	told := map[domain.FileState]int{}
	files := map[domain.Aggregate]domain.File{}
	for r, err := range log.Read(ctx, eventstore.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		f, known := files[r.Aggregate]
		if !known {
			f.Hash = domain.FileHash(r.Aggregate.ID)
		}
		if files[r.Aggregate], err = domain.EvolveFile(f, r); err != nil {
			t.Fatalf("place %d: %v", r.Seq, err)
		}
	}
	for _, f := range files {
		told[f.State]++
	}
	if len(files) != rounds || told[domain.FileIgnore] != wins[domain.FileIgnore] || told[domain.FileDownloaded] != wins[domain.FileDownloaded] {
		t.Errorf("the log tells %v of %d files, they say %v", told, len(files), wins)
	}
}
