package files_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// TestFilesProperty: handlers that share a log which loses questions and answers
// ask anything in any order. What they were told happened stands in the log, once
// and in that order; what they were told did not, does not; and all histories are
// legal.
func TestFilesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := memory.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		log := memory.NewLog(clock)
		lossy := &storetest.Doubtful{Log: log, Lose: func() (bool, bool) {
			n := rapid.IntRange(0, 9).Draw(t, "loss")
			return n == 0, n == 1
		}}
		ids := 0
		var handlers []*files.Handler
		for range 3 {
			handlers = append(handlers, &files.Handler{Log: lossy, Clock: clock.Now,
				NewID: func() string { ids++; return fmt.Sprintf("c%d", ids) }})
		}
		told := map[domain.FileHash][]string{}
		limits := domain.Limits{Max: 2, Timeout: time.Second}
		for range rapid.IntRange(1, 25).Draw(t, "calls") {
			clock.Advance(time.Duration(rapid.IntRange(0, 700).Draw(t, "ms")) * time.Millisecond)
			h := rapid.SampledFrom(handlers).Draw(t, "handler")
			now, err := h.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var asks []files.Request
			for n := range rapid.IntRange(1, 4).Draw(t, "files") {
				asks = append(asks, files.Request{Hash: storetest.FileSpec(n).Hash(), Command: anyFileCommand(t, n, limits, now)})
			}
			results, err := h.All(t.Context(), asks, eventstore.Meta{Actor: "daemon/test"})
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				var refused *domain.Refused
				switch {
				case r.Err != nil && !errors.As(r.Err, &refused):
					t.Fatal(r.Err)
				case r.Err == nil && !r.Duplicate && len(r.Events) == 0:
					t.Fatalf("%T: neither written nor refused nor known: %+v", asks[i].Command, r)
				}
				for _, e := range r.Events {
					told[asks[i].Hash] = append(told[asks[i].Hash], fmt.Sprintf("%d %s %s by %s", e.Seq, e.Type, e.ID(), e.CommandID))
				}
			}
		}
		written, files := map[domain.FileHash][]string{}, map[domain.FileHash]domain.File{}
		for r, err := range log.Read(t.Context(), eventstore.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			hash := domain.FileHash(r.Aggregate.ID)
			written[hash] = append(written[hash], fmt.Sprintf("%d %s %s by %s", r.Seq, r.Type, r.ID(), r.CommandID))
			if files[hash], err = domain.EvolveFile(files[hash], r); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(written) != fmt.Sprint(told) {
			t.Fatalf("written %v\ntold    %v", written, told)
		}
		for hash, f := range files {
			if f.DownloadAttempts > 2 || f.ProcessingAttempts > 2 {
				t.Fatalf("%s: %d and %d attempts", hash, f.DownloadAttempts, f.ProcessingAttempts)
			}
		}
	})
}

func anyFileCommand(t *rapid.T, n int, l domain.Limits, now domain.Time) domain.FileCommand {
	fence := rapid.Int64Range(1, 12).Draw(t, "fence")
	why := storetest.Broken()
	return rapid.SampledFrom([]domain.FileCommand{
		domain.DiscoverFile{Spec: storetest.FileSpec(n)}, domain.DiscoverFile{Spec: storetest.FileSpec(n)},
		domain.StartDownload{Worker: "w", Limits: l}, domain.StartDownload{Worker: "w", Limits: l},
		domain.FinishDownload{Fence: fence, SHA256: strings.Repeat("ab", 32)}, domain.FileAlreadyThere{SHA256: strings.Repeat("ab", 32)},
		domain.FailDownload{Fence: fence, Reason: why, Limits: l}, domain.FailValidation{Reason: why, Limits: l},
		domain.SkipFile{Reason: why}, domain.ReadyFile{}, domain.StartProcessing{Worker: "w"}, domain.FinishProcessing{Fence: fence},
		domain.AuditFailed{Reason: why, Limits: l}, domain.RetryProcessing{Limits: l}, domain.ReopenFile{Reason: why},
		domain.RecoverFile{Now: now, Limits: domain.FileLimits{Download: l, Processing: l}}, domain.AbandonFile{Reason: why},
	}).Draw(t, "command")
}
