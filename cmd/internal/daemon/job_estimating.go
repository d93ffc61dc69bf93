package daemon

import (
	"context"
	"errors"
	"math"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// jobEstimating requests the size of each file and discovers the files (J6, F1). It
// never fails: a size that no server states in time counts as unknown.
func (s *steps) jobEstimating(ctx context.Context, t *JobTask) Outcome {
	p := t.Profile
	files, err := s.Files(ctx, t.Profile, t.Job)
	if err != nil {
		if out := s.errorOutcome(err, "list the files"); out.verb == verbTrouble || out.verb == verbRelease {
			return out
		}
		t.Log.Info("the files cannot be listed, so their size is unknown", "error", err)
		return nextJob(domain.EstimateJob{Unknown: 1, Priority: t.Job.Priority})
	}
	if out, ok := t.alsoAt(ctx, files); !ok {
		return out
	}
	s.Sizes(ctx, t.Log, p, files)
	cmd := domain.EstimateJob{Files: len(files)}
	for _, f := range files {
		if f.Size < 0 {
			cmd.Unknown++
		} else {
			cmd.Bytes = plus(cmd.Bytes, f.Size)
		}
	}
	cmd.Priority = p.Priority.ForObject(t.Job.Priority, cmd.Bytes)
	var away *logError
	switch err := crash.Around("daemon/estimating/discover", func() error { return s.discover(ctx, t, files) }); {
	case errors.As(err, &away):
		return release(err)
	case err != nil:
		t.Log.Info("not all files could be discovered; their download will fail", "error", err)
	}
	return nextJob(cmd)
}

// plus adds sizes without overflow: depositors state them.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
