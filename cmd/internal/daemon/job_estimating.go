package daemon

import (
	"context"
	"errors"
	"math"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/outside"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// jobEstimating requests the size of each file and discovers the files (J6, F1). It
// never fails: a size that no server states in time counts as unknown.
func (s *steps) jobEstimating(ctx context.Context, t *JobTask) Outcome {
	p := t.Profile
	if len(t.results) > 0 {
		if e, err := outside.ParseEstimate(t.results[0].Result); err == nil {
			return nextJob(e.Command(t.Job, p.Priority.ForEstimate))
		}
	}
	files, err := s.Files(ctx, t.Profile, t.Job)
	if err != nil {
		if out := s.errorOutcome(err, "list the files"); out.verb == verbTrouble || out.verb == verbRelease {
			return out
		}
		t.Log.Info("the files cannot be listed, so their size is unknown", "error", err)
		return nextJob(domain.EstimateJob{Unknown: 1, Priority: p.Priority.ForEstimate(t.Job.Priority, 0, 1)})
	}
	if out, ok := s.sizes(ctx, t, files); !ok {
		return out
	}
	cmd := domain.EstimateJob{Files: len(files)}
	for _, f := range files {
		if f.Size < 0 {
			cmd.Unknown++
		} else {
			cmd.Bytes = plus(cmd.Bytes, f.Size)
		}
	}
	if cmd.Space = cmd.Bytes; t.Job.Configuration.PayloadType == domain.TypeContainer {
		cmd.Space = plus(cmd.Bytes, cmd.Bytes) // its files beside it, if they are not compressed
	}
	cmd.Priority = p.Priority.ForEstimate(t.Job.Priority, cmd.Bytes, cmd.Unknown)
	var away *logError
	switch err := crash.Around("daemon/estimating/discover", func() error { return s.discover(ctx, t, files) }); {
	case errors.As(err, &away):
		return release(err)
	case err != nil:
		t.Log.Info("not all files could be discovered; their download will fail", "error", err)
	}
	return nextJob(cmd)
}

// sizes requests the sizes of files, group by group of their servers. The job waits for a
// server of the first group that may not be used; sizes at another one count as unknown
// then, so that what was stated is not requested again. If it waits, ok is false.
func (s *steps) sizes(ctx context.Context, t *JobTask, files []payload.File) (out Outcome, ok bool) {
	groups := limits.GroupServers(payload.Hosts(files))
	if out, ok := t.alsoAt(ctx, groups.Servers[0]); !ok {
		return out, false
	}
	if len(groups.Servers) == 1 {
		s.Sizes(ctx, t.Log, t.Profile, files)
		return out, true
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StepTimeout)
	defer cancel()
	for n, servers := range groups.Servers {
		var of []int
		var group []payload.File
		for i, f := range files {
			if groups.Has(n, f.Host()) {
				of, group = append(of, i), append(group, f)
			}
		}
		if _, ok := t.alsoAt(ctx, servers); !ok {
			t.Log.Info("servers are busy; the sizes of their files count as unknown", "servers", len(servers), "files", len(of))
			continue
		}
		s.Sizes(ctx, t.Log, t.Profile, group)
		for k, i := range of {
			files[i] = group[k]
		}
	}
	return out, true
}

// plus adds sizes without overflow: depositors state them.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
