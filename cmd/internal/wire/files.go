package wire

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// FileHandler implements app.LiveState. There is one handler, so that what it knows of files
// is known to all that use it. It writes to the log: not to one that lost events.
func (w *World) FileHandler(ctx context.Context) (*eventstore.FileHandler, error) {
	return w.files.get(ctx, func(ctx context.Context) (*eventstore.FileHandler, error) {
		log, err := w.Log(ctx)
		if err != nil {
			return nil, err
		}
		if err := w.continues(ctx); err != nil {
			return nil, err
		}
		live, err := w.Live(ctx)
		if err != nil {
			return nil, err
		}
		now, err := live.Overview(ctx)
		if err != nil {
			return nil, w.unavailable(app.ServerZooKeeper, err)
		}
		files := &eventstore.FileHandler{Log: log, Clock: crash.Now, Epoch: now.Epoch,
			NewID: func() string { return uuid.Must(uuid.NewV7()).String() }}
		w.metrics.Discoveries(files.Duplicates)
		return files, nil
	})
}

// Sweeper makes what ends overdue attempts.
func (w *World) Sweeper(ctx context.Context) (*sweep.Sweeper, error) {
	files, err := w.FileHandler(ctx)
	if err != nil {
		return nil, err
	}
	db, err := w.DB(ctx)
	if err != nil {
		return nil, err
	}
	none, profiles, err := w.FileLimits()
	if err != nil {
		return nil, err
	}
	return &sweep.Sweeper{Files: files, Finder: sweep.Tables{DB: db}, Limits: sweep.Limits{Default: none, Profiles: profiles},
		Interval: w.cfg.SweepInterval, Log: w.log.With("role", "sweeper")}, nil
}

// FileLimits gives the limits of files: of those that belong to no job, and of the
// jobs of each profile.
func (w *World) FileLimits() (none domain.FileLimits, profiles map[string]domain.FileLimits, err error) {
	set, err := w.Profiles()
	if err != nil {
		return none, nil, err
	}
	step := func(attempts int, timeout time.Duration) domain.Limits {
		return domain.Limits{Max: attempts, Timeout: timeout, Delay: w.cfg.FileRetryDelay, MaxDelay: w.cfg.FileRetryMaxDelay}
	}
	none = domain.FileLimits{
		Download:   step(w.cfg.MaxDownloadAttempts, w.cfg.DownloadTimeout),
		Processing: step(w.cfg.MaxProcessingAttempts, w.cfg.ProcessingTimeout),
	}
	profiles = map[string]domain.FileLimits{}
	for _, name := range set.Names() {
		p, err := set.Get(name)
		if err != nil {
			return none, nil, err
		}
		profiles[name] = domain.FileLimits{
			Download:   step(p.Fetch.Attempts, max(w.cfg.DownloadTimeout, time.Duration(p.Fetch.Timeout))),
			Processing: none.Processing,
		}
	}
	return none, profiles, nil
}
