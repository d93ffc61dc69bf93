package daemon

import (
	"context"
	"errors"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// jobEstimating asks for the size of each file and makes the files known (J6, F1).
// It never fails: what nobody can tell counts as unknown.
func (s *steps) jobEstimating(ctx context.Context, t *JobTask) Outcome {
	p, out := s.profile(t)
	if out != nil {
		return *out
	}
	files, err := s.files(ctx, p, t)
	if err != nil {
		t.Log.Info("the files cannot be listed, so their size is unknown", "error", err)
		return nextJob(domain.EstimateJob{Unknown: 1, Priority: t.Job.Priority})
	}
	sizes := make([]int64, len(files))
	var g errgroup.Group
	g.SetLimit(p.Fetch.Parallel)
	for i, f := range files {
		g.Go(func() error {
			size, err := s.head(ctx, p, f)
			if err != nil || size < 0 || size > int64(p.Limits.MaxFileBytes) {
				size = f.Size
			}
			sizes[i] = size
			return nil
		})
	}
	_ = g.Wait() // no error is given
	cmd := domain.EstimateJob{Files: len(files)}
	for i, size := range sizes {
		files[i].Size = size
		if size < 0 {
			cmd.Unknown++
			continue
		}
		cmd.Bytes = plus(cmd.Bytes, size)
	}
	cmd.Priority = p.Priority.ForObject(t.Job.Priority, cmd.Bytes)
	var away *logError
	switch err := s.discover(ctx, t, files); {
	case errors.As(err, &away):
		return handBack(err)
	case err != nil:
		t.Log.Info("not all files could be made known; downloading them will tell", "error", err)
	}
	crash.Point("daemon/estimating/after-discover")
	return nextJob(cmd)
}

// plus adds sizes without overflow: they come from strangers.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
