package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
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

// notReported says what a batch's report will lack once the job is gone.
func notReported(j domain.Job, b domain.Batch) string {
	name := j.Configuration.FileName
	if name == "" {
		name = fetch.Redact(j.Configuration.PayloadURL)
	}
	fate := "was held"
	if r := j.Reason; j.State == domain.JobFailed && r != nil {
		fate = fmt.Sprintf("failed with %s: %s", r.Code, r.Message)
	}
	if b.Report != nil {
		return fmt.Sprintf("the report of %s already named it to the depositor; an update report counts it as deleted and no longer names %s (row %d), which %s",
			b.ID, name, j.Configuration.Row+1, fate)
	}
	return fmt.Sprintf("%s is not finished: its report will count this job as deleted and will not name %s (row %d), which %s", b.ID, name, j.Configuration.Row+1, fate)
}
