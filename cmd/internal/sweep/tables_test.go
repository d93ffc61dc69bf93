package sweep_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestTablesFindWhatTheLogTells: PostgreSQL gives the candidates that folding the
// log gives, whatever the net and wherever a page begins.
func TestTablesFindWhatTheLogTells(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	start := func(domain.File) domain.FileCommand {
		return domain.StartDownload{Worker: "w", Limits: limits.Download}
	}
	fail := func(f domain.File) domain.FileCommand {
		return domain.FailDownload{Fence: f.Fence, Reason: broken(), Limits: limits.Download}
	}
	there := func(domain.File) domain.FileCommand { return domain.FileAlreadyThere{Size: 1, SHA256: digest} }
	ready := func(domain.File) domain.FileCommand { return domain.ReadyFile{} }
	process := func(domain.File) domain.FileCommand { return domain.StartProcessing{Worker: "w"} }
	fall := func(f domain.File) domain.FileCommand {
		return domain.FailProcessing{Fence: f.Fence, Reason: broken(), Limits: limits.Processing}
	}
	done := func(f domain.File) domain.FileCommand { return domain.FinishProcessing{Fence: f.Fence} }
	again := func(domain.File) domain.FileCommand { return domain.RetryProcessing{Limits: limits.Processing} }
	n := 0
	for _, steps := range [][]func(domain.File) domain.FileCommand{
		{}, {start}, {start, fail}, {start, fail, start}, {start, fail, start, fail}, {start, fail, start, fail, start, fail},
		{there}, {there, ready}, {there, ready, process}, {there, ready, process, done}, {there, ready, process, fall},
		{there, ready, process, fall, again, process, fall},
	} {
		for range 2 {
			n++
			spec := listed
			spec.Path = fmt.Sprintf("%d.nc", n)
			w.hash = spec.Hash()
			f := w.do(domain.DiscoverFile{Spec: spec})
			for _, step := range steps {
				f = w.do(step(f))
				w.clock.Advance(time.Second)
			}
		}
	}
	begun := domain.At(w.clock.Now())

	db := projtest.DB(t)
	info, err := w.log.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := projections.New(projections.Config{DB: db, Stream: projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last},
		Source: func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
			return w.log.Read(ctx, eventstore.ReadOptions{From: from})
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}

	most := 0
	for _, before := range []time.Duration{0, 5 * time.Second, 20 * time.Second, time.Hour} {
		for attempts := range 4 {
			net := sweep.Filter{DownloadBefore: domain.At(begun.Add(-before)), ProcessingBefore: domain.At(begun.Add(-before / 2)), DownloadAttempts: attempts}
			after := domain.FileHash("")
			for page := 0; ; page++ {
				want, err := tables{w.log}.Candidates(t.Context(), net, after, 3)
				if err != nil {
					t.Fatal(err)
				}
				got, err := sweep.Tables{DB: db}.Candidates(t.Context(), net, after, 3)
				if err != nil {
					t.Fatal(err)
				}
				most = max(most, 3*page+len(got))
				if len(want) == 0 && len(got) == 0 {
					break
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("page %d of %+v: %s", page, net, diff)
				}
				after = want[len(want)-1].Hash
			}
		}
	}
	if most < 10 {
		t.Errorf("at most %d candidates were found: the nets are too narrow to tell anything", most)
	}

	// What the tables give is enough to end all that is overdue.
	w.sweeper.Finder, w.sweeper.Files = sweep.Tables{DB: db}, storetest.NewFileHandler(w.log)
	w.clock.Advance(time.Hour)
	sum, err := w.sweeper.Once(t.Context())
	if err != nil || sum.Errors+sum.Moved > 0 || sum.Recovered[domain.FileDownloadingFailed] != 4 || sum.Recovered[domain.FileProcessingFailed] != 2 ||
		sum.Recovered[domain.FileReady] != 2 {
		t.Errorf("the pass gives %+v, %v", sum, err)
	}
}
