package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// workFiles are the files of a job in processing.
type workFiles struct{ *lives }

// takeOver ends the attempts of workers that are gone, takes up again what was
// given up before a requeue, and lets everything that may be processed be so. What
// cannot be is the error. begun: this claim makes attempts already, and goes on with
// them.
func (w workFiles) takeOver(ctx context.Context, begun bool) error {
	err := w.endLost(ctx, begun)
	if err == nil {
		err = w.each(ctx, "", func(f domain.File) domain.FileCommand {
			if f.State != domain.FileDownloaded {
				return nil
			}
			return domain.ReadyFile{} // an operator took it up again after the download
		})
	}
	if err == nil {
		err = w.reopen(ctx, domain.FileAbandoned)
	}
	if err == nil {
		err = w.each(ctx, "", w.again)
	}
	if err != nil {
		return err
	}
	for i, f := range w.state {
		if begun && w.mine(f) {
			continue
		}
		switch f.State {
		case domain.FileReady, domain.FileProcessed, domain.FileSkipped:
		case domain.FileAbandoned:
			return fmt.Errorf("%s: %w", w.files[i].Name, &problem{*f.Reason})
		case domain.FileProcessing, domain.FileProcessingFailed:
			return &logError{fmt.Errorf("%s is %s: somebody else moved it", w.files[i].Name, f.State)}
		default:
			return systemProblem(CodeFilesMissing, "%s was not downloaded, it is %q; submit the object again", w.files[i].Name, f.State)
		}
	}
	return nil
}

// again gives the command that lets a failed file be processed once more (F14), or
// gives it up (F15).
func (w workFiles) again(f domain.File) domain.FileCommand {
	if f.State != domain.FileProcessingFailed {
		return nil
	}
	limits := w.limits(f, f.ProcessingAttempts)
	if limits.Exhausted(f.ProcessingAttempts) {
		return domain.RecoverFile{Limits: domain.FileLimits{Download: limits, Processing: limits}}
	}
	return domain.RetryProcessing{Limits: limits}
}

// endLost ends the attempts under way that are not this claim's: whoever makes them
// has lost the claim.
func (w workFiles) endLost(ctx context.Context, begun bool) error {
	return w.lives.endLost(ctx, func(f domain.File) domain.FileCommand {
		if f.State != domain.FileProcessing || begun && w.mine(f) {
			return nil
		}
		return domain.FailProcessing{Fence: f.Fence, Reason: domain.WorkerLost(f.Worker), Limits: domain.Limits{Max: w.max}}
	})
}

// start begins an attempt at every file that is ready (F11). What was known of the
// files may have been outdated: then they are taken over once more.
func (w workFiles) start(ctx context.Context) error {
	for n := 0; ; n++ {
		err := w.each(ctx, "", func(f domain.File) domain.FileCommand {
			if f.State != domain.FileReady {
				return nil
			}
			return domain.StartProcessing{Worker: w.t.Claim.Worker}
		})
		if err != nil {
			return err
		}
		begun := true
		for _, f := range w.state {
			begun = begun && (w.mine(f) || f.State == domain.FileProcessed || f.State == domain.FileSkipped)
		}
		switch {
		case begun:
			crash.Point("daemon/processing/after-start")
			return nil
		case n > 0:
			return &logError{errors.New("somebody else keeps moving the files")}
		}
		if err := w.takeOver(ctx, true); err != nil {
			return err
		}
	}
}

// mine reports whether this claim makes an attempt at the file.
func (w workFiles) mine(f domain.File) bool {
	return f.State == domain.FileProcessing && f.Worker == w.t.Claim.Worker
}

// finish ends the attempts at the files that are in the stored version (F12). All
// must be in it, as they were downloaded.
func (w workFiles) finish(ctx context.Context, m store.StorageManifest) error {
	stored := make(map[string]store.StoredFile, len(m.Files))
	for _, f := range m.Files {
		if f.Kind == store.KindProducer {
			stored[f.Name] = f
		}
	}
	var asks []ask
	for i, f := range w.state {
		s, ok := stored[w.files[i].Name]
		switch {
		case w.leftOut(i):
		case !ok:
			return systemProblem(CodeStorage, "%s is not in version %d of %s, which was stored before it was taken up again; submit the object again",
				w.files[i].Name, m.Version, m.Object)
		case s.SHA256 != f.SHA256:
			return systemProblem(CodeStorage, "%s has the SHA-256 %s in version %d of %s and %s in the history; submit the object again",
				w.files[i].Name, s.SHA256, m.Version, m.Object, f.SHA256)
		case w.mine(f):
			asks = append(asks, ask{i, domain.FinishProcessing{Fence: f.Fence, Output: &domain.FileOutput{Key: s.Key, SHA256: s.SHA256, Size: s.Size}}})
		}
	}
	if err := w.end(ctx, asks); err != nil {
		return err
	}
	for i, f := range w.state {
		if f.State != domain.FileProcessed && !w.leftOut(i) {
			return &logError{fmt.Errorf("%s is %s: somebody else moved it", w.files[i].Name, f.State)}
		}
	}
	crash.Point("daemon/processing/after-end")
	return nil
}

// failed ends the attempts that are under way without a result (F13) and gives what
// comes of the job. How often it is tried is for its files to say: it fails when they
// are given up, and they are given up when it fails (F15).
func (w workFiles) failed(ctx context.Context, why domain.Reason, out Outcome) Outcome {
	var asks []ask
	for i, f := range w.state {
		if w.mine(f) {
			asks = append(asks, ask{i, domain.FailProcessing{Fence: f.Fence, Reason: why, Limits: w.most(f, out.verb)}})
		}
	}
	if err := w.end(ctx, asks); err != nil {
		return handBack(err)
	}
	if out.verb != verbRetry {
		return out
	}
	for _, f := range w.state {
		switch f.State {
		case domain.FileAbandoned:
			return fail(why)
		case domain.FileProcessingFailed:
			out = handBack(out.err)
		}
	}
	return out
}

// corrupt sends back the files whose stored bytes are not what was stored (F16):
// the one that the error names, else all.
func (w workFiles) corrupt(ctx context.Context, cause error) error {
	var at *store.Error
	if !errors.As(cause, &at) || at.Code != store.CodeMismatch {
		return nil
	}
	named := func(f domain.File) bool { return f.Output != nil && f.Output.Key == at.Key }
	one := false
	for _, f := range w.state {
		one = one || named(f)
	}
	why := reasonOf(cause, "read back what was stored")
	return w.each(ctx, "", func(f domain.File) domain.FileCommand {
		if f.State != domain.FileProcessed || one && !named(f) {
			return nil
		}
		return domain.AuditFailed{Reason: why, Limits: w.most(f, verbRetry)}
	})
}

// most are the limits for a file of a job with which that is done: it is given up
// with the job, or after its attempts. A server of ours that is away uses none up.
func (w workFiles) most(f domain.File, job verb) domain.Limits {
	switch job {
	case verbFail:
		return domain.Limits{Max: max(f.ProcessingAttempts, 1)}
	case verbRetry:
		return domain.Limits{Max: w.max}
	default:
		return domain.Limits{Max: f.ProcessingAttempts + 1}
	}
}
