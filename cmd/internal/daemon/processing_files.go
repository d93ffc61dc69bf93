package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// processingFiles are the files of a job in processing.
type processingFiles struct{ *fileStates }

// weight returns by how many bytes the time to store the files is measured.
func (p processingFiles) weight() (bytes int64) {
	for i, f := range p.state {
		if !p.leftOut(i) {
			bytes = plus(plus(bytes, f.Size), payload.FileBytes)
		}
	}
	return bytes
}

// takeOver ends the attempts of workers that have lost the claim, reopens files that
// were given up before a requeue, and makes all files ready that may be processed. The
// error names those that cannot be. begun says that this claim makes attempts already,
// which continue.
func (p processingFiles) takeOver(ctx context.Context, begun bool) error {
	err := inOrder(ctx,
		func(ctx context.Context) error { return p.endLost(ctx, begun) },
		// An operator reopened those after the download.
		func(ctx context.Context) error { return p.inState(ctx, "", domain.FileDownloaded, domain.ReadyFile{}) },
		func(ctx context.Context) error { return p.reopen(ctx, domain.FileAbandoned) },
		func(ctx context.Context) error { return p.each(ctx, "", p.again) })
	if err != nil {
		return err
	}
	for i, f := range p.state {
		if begun && p.mine(f) {
			continue
		}
		switch f.State {
		case domain.FileReady, domain.FileProcessed, domain.FileSkipped:
		case domain.FileAbandoned:
			return fmt.Errorf("%s: %w", p.files[i].Name, &reason.Problem{Reason: *f.Reason})
		case domain.FileProcessing, domain.FileProcessingFailed:
			return movedError(p.files[i].Name, f.State)
		default:
			return reason.System(reason.CodeFilesMissing, "%s was not downloaded, it is %q; submit the object again", p.files[i].Name, f.State)
		}
	}
	return nil
}

// again returns the command that lets a failed file be processed once more (F14), or
// gives it up (F15).
func (p processingFiles) again(f domain.File) domain.FileCommand {
	if f.State != domain.FileProcessingFailed {
		return nil
	}
	limits := p.limits(f, f.ProcessingAttempts)
	if limits.Exhausted(f.ProcessingAttempts) {
		return domain.RecoverFile{Limits: domain.FileLimits{Download: limits, Processing: limits}}
	}
	return domain.RetryProcessing{Limits: limits}
}

// endLost ends open attempts of other claims: their workers have lost the claim.
func (p processingFiles) endLost(ctx context.Context, begun bool) error {
	return p.fileStates.endLost(ctx, func(f domain.File) domain.FileCommand {
		if f.State != domain.FileProcessing || begun && p.mine(f) {
			return nil
		}
		return domain.FailProcessing{Fence: f.Fence, Reason: domain.WorkerLost(f.Worker), Limits: domain.Limits{Max: p.max}}
	})
}

// start begins an attempt at every file that is ready (F11). If the known states of the
// files were outdated it takes them over again.
func (p processingFiles) start(ctx context.Context) error {
	for n := 0; ; n++ {
		err := crash.Around("daemon/processing/start", func() error {
			return p.inState(ctx, "", domain.FileReady, domain.StartProcessing{Worker: p.task.Claim.Worker})
		})
		if err != nil {
			return err
		}
		waits := slices.ContainsFunc(p.state, func(f domain.File) bool {
			return !p.mine(f) && f.State != domain.FileProcessed && f.State != domain.FileSkipped
		})
		switch {
		case !waits:
			return nil
		case n > 0:
			return &logError{errors.New("another process keeps moving the files")}
		}
		if err := p.takeOver(ctx, true); err != nil {
			return err
		}
	}
}

// mine reports whether this claim makes an attempt at the file.
func (p processingFiles) mine(f domain.File) bool {
	return f.State == domain.FileProcessing && f.Worker == p.task.Claim.Worker
}

// finish ends the attempts at the files that are in the stored version (F12). All must
// be in it, with the digests of the download.
func (p processingFiles) finish(ctx context.Context, m store.StorageManifest) error {
	stored := make(map[string]store.StoredFile, len(m.Files))
	for _, f := range m.Files {
		if f.Kind == store.KindProducer {
			stored[f.Name] = f
		}
	}
	var cmds []fileCommand
	for i, f := range p.state {
		s, ok := stored[p.files[i].Name]
		switch {
		case p.leftOut(i):
		case !ok:
			return reason.System(reason.CodeStorage, "%s is not in version %d of %s, which was stored before it was taken up again; submit the object again",
				p.files[i].Name, m.Version, m.Object)
		case s.SHA256 != f.SHA256:
			return reason.System(reason.CodeStorage, "%s has the SHA-256 %s in version %d of %s and %s in the history; submit the object again",
				p.files[i].Name, s.SHA256, m.Version, m.Object, f.SHA256)
		case p.mine(f):
			cmds = append(cmds, fileCommand{i, domain.FinishProcessing{Fence: f.Fence, Output: &domain.FileOutput{Key: s.Key, SHA256: s.SHA256, Size: s.Size}}})
		}
	}
	if err := crash.Around("daemon/processing/end", func() error { return p.end(ctx, cmds) }); err != nil {
		return err
	}
	for i, f := range p.state {
		if f.State != domain.FileProcessed && !p.leftOut(i) {
			return movedError(p.files[i].Name, f.State)
		}
	}
	return nil
}

// failed ends the open attempts (F13) and returns the outcome of the job. The limits of
// the files apply to the job: it fails when they are given up, and they are given up
// when it fails (F15).
func (p processingFiles) failed(ctx context.Context, why domain.Reason, out Outcome) Outcome {
	var cmds []fileCommand
	for i, f := range p.state {
		if p.mine(f) {
			cmds = append(cmds, fileCommand{i, domain.FailProcessing{Fence: f.Fence, Reason: why, Limits: p.most(f, out.verb),
				Uncounted: out.verb == verbTrouble || out.verb == verbRelease}})
		}
	}
	if err := p.end(ctx, cmds); err != nil {
		return release(err)
	}
	if out.verb != verbRetry {
		return out
	}
	for _, f := range p.state {
		switch f.State {
		case domain.FileAbandoned:
			return fail(why)
		case domain.FileProcessingFailed:
			out.verb = verbTrouble
		}
	}
	return out
}

// giveBack ends the open attempts of a claim that a stop of the service ends, so that
// they use nothing up.
func (p processingFiles) giveBack(ctx context.Context) {
	p.fileStates.giveBack(ctx, func(f domain.File, why domain.Reason) domain.FileCommand {
		if !p.mine(f) {
			return nil
		}
		return domain.FailProcessing{Fence: f.Fence, Reason: why, Limits: domain.Limits{Max: p.max}, Uncounted: true}
	})
}

// corrupt fails the files whose stored bytes have changed (F16): the one that the error
// names, else all.
func (p processingFiles) corrupt(ctx context.Context, cause error) error {
	var at *store.Error
	if !errors.As(cause, &at) || at.Code != store.CodeMismatch {
		return nil
	}
	named := func(f domain.File) bool { return f.Output != nil && f.Output.Key == at.Key }
	one := slices.ContainsFunc(p.state, named)
	why := reason.Of(cause, "read back what was stored")
	return p.each(ctx, "", func(f domain.File) domain.FileCommand {
		if f.State != domain.FileProcessed || one && !named(f) {
			return nil
		}
		return domain.AuditFailed{Reason: why, Limits: p.most(f, verbRetry)}
	})
}

// most returns the limits for a file of a job with this outcome: it is given up with
// the job, or after its attempts. A failure of our own servers does not use up an
// attempt.
func (p processingFiles) most(f domain.File, job verb) domain.Limits {
	switch job {
	case verbFail:
		return domain.Limits{Max: max(f.ProcessingAttempts, 1)}
	case verbRetry:
		return domain.Limits{Max: p.max}
	default:
		return domain.Limits{Max: f.ProcessingAttempts + 1}
	}
}
