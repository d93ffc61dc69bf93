package app

import (
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
)

// endAttempts ends the attempts that run at files (F5, F13). The files can be tried again when
// their job is requeued. An attempt that has ended meanwhile is no error.
func endAttempts(ctx context.Context, handler *files.Handler, hashes []domain.FileHash, why domain.Reason, m eventstore.Meta) error {
	for _, hash := range hashes {
		f, err := handler.Load(ctx, hash)
		if err != nil {
			return err
		}
		var cmd domain.FileCommand = domain.FailDownload{Fence: f.Fence, Reason: why, Limits: domain.Limits{Max: f.DownloadAttempts + 1}}
		if f.State == domain.FileProcessing {
			cmd = domain.FailProcessing{Fence: f.Fence, Reason: why, Limits: domain.Limits{Max: f.ProcessingAttempts + 1}}
		}
		err = crash.Around("app/ending/file", func() error {
			_, err := handler.File(ctx, hash, cmd, m)
			return err
		})
		if _, refused := errors.AsType[*domain.Refused](err); err != nil && !refused {
			return err
		}
	}
	return nil
}

// Waiting for a worker to let a job go.
const (
	unlockTime  = 15 * time.Second
	unlockPause = 100 * time.Millisecond
)

// locks reports which aggregates are locked.
type locks interface {
	Locked(ctx context.Context, of ...domain.Aggregate) ([]domain.Aggregate, error)
}

// waitUnlocked waits until no worker has a job locked. The error is eventstore.ErrLocked
// when that takes too long.
func waitUnlocked(ctx context.Context, live locks, id domain.JobID) error {
	ctx, cancel := context.WithTimeout(ctx, unlockTime)
	defer cancel()
	for {
		locked, err := live.Locked(ctx, id.Aggregate())
		if err != nil || len(locked) == 0 {
			return err
		}
		select {
		case <-time.After(unlockPause):
		case <-ctx.Done():
			return &eventstore.Error{Op: "wait", Aggregate: id.Aggregate(), Err: eventstore.ErrLocked,
				Hint: "it has failed, and a worker still has it locked: run the command again when its step has ended"}
		}
	}
}
