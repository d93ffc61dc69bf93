package payload

import (
	"context"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// silences is how many requests for the size of a file a host may leave unanswered
// before a step does not ask it any more.
const silences = 3

// Sizes sets the sizes and the times of modification that the files' servers state. It
// stops to ask a host that does not answer, and all of them after the step's time.
func (s *Source) Sizes(ctx context.Context, log *slog.Logger, p profile.Profile, files []File) {
	ctx, cancel := context.WithTimeout(ctx, s.StepTimeout)
	defer cancel()
	var mu sync.Mutex
	silent := map[string]int{}
	asked := func(host string, failed bool) bool {
		mu.Lock()
		defer mu.Unlock()
		if failed {
			silent[host]++
		}
		return silent[host] < silences
	}
	// A size that is not stated is learned by the download.
	ask := func(f *File) {
		if ctx.Err() != nil || !asked(f.Host(), false) {
			return
		}
		info, err := s.Head(ctx, p, *f)
		if again, _ := fetch.MayRetry(err); again {
			asked(f.Host(), true)
		}
		if err == nil && info.Size >= 0 && info.Size <= int64(p.Limits.MaxFileBytes) {
			f.Size = info.Size
		}
		if !info.Modified.IsZero() { // also of one whose size could not be learned
			f.Modified = domain.At(info.Modified)
		}
	}
	var g errgroup.Group
	g.SetLimit(p.Fetch.Parallel)
	for i := range files {
		g.Go(func() error {
			ask(&files[i])
			return nil
		})
	}
	_ = g.Wait() // no error is returned
	for host, n := range silent {
		if n >= silences {
			log.Info("a host does not state the sizes of files; it is not asked for the rest", "host", host)
		}
	}
	if ctx.Err() != nil {
		log.Info("not all sizes of files were stated in time; the rest count as unknown", "limit", s.StepTimeout)
	}
}
