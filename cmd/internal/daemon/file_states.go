package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// codeRequeued is why a file that was given up is taken up again with its job.
const codeRequeued domain.Code = "requeued"

// lives are the files of a claimed job with what the log says of each. Different
// files may be asked about by several goroutines.
type lives struct {
	s     *steps
	t     *JobTask
	max   int // attempts that the profile allows for each step of a file
	files []file
	state []domain.File // of each of files
}

// ask is a command about the file in a place of lives.
type ask struct {
	i   int
	cmd domain.FileCommand
}

// logError tells that the log did not take or give the events of files, or that the
// claim is lost: no matter of the job.
type logError struct{ error }

// Unwrap gives the cause.
func (e *logError) Unwrap() error { return e.error }

// specOf describes a file of a job. Its identity are the job and its name.
func specOf(j domain.Job, f file) domain.FileSpec {
	spec := domain.FileSpec{Source: string(j.ID), Path: f.Name, BatchID: j.Configuration.BatchID, JobID: j.ID,
		URL: fetch.Redact(f.URL), Size: max(f.Size, 0), DigestAlgorithm: string(f.Algorithm), DigestValue: f.Digest}
	if len(spec.URL) > domain.MaxFileText {
		spec.URL = "" // the manifest has it
	}
	return spec
}

// discover makes the files known (F1). Those that are known stay as they are.
func (s *steps) discover(ctx context.Context, t *JobTask, files []file) error {
	ctx, cancel, err := commitContext(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	found := make([]domain.DiscoverFile, len(files))
	for i, f := range files {
		found[i] = domain.DiscoverFile{Spec: specOf(t.Job, f)}
	}
	fresh, err := s.cfg.Files.DiscoverAll(ctx, found, eventstore.Meta{Actor: t.actor, TraceParent: t.trace.Parent()})
	if err != nil && !isRefused(err) {
		return &logError{fmt.Errorf("write the discovery of %d files: %w", len(files), err)}
	}
	t.Log.Info("files discovered", "files", len(files), "new", fresh)
	return err
}

// lives loads the files' states.
func (s *steps) lives(ctx context.Context, p Profile, t *JobTask, files []file) (*lives, error) {
	l := &lives{s: s, t: t, max: max(p.Fetch.Attempts, 1), files: files, state: make([]domain.File, len(files))}
	hashes := make([]domain.FileHash, len(files))
	for i, f := range files {
		hashes[i] = domain.HashFile(string(t.Job.ID), f.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	known, err := s.cfg.Files.Files(ctx, hashes)
	if err != nil {
		return nil, &logError{fmt.Errorf("ask the log for the states of %d files: %w", len(files), err)}
	}
	var doubt []domain.FileHash
	for _, hash := range hashes {
		if doubtful(t.Job.State, known[hash].State) {
			doubt = append(doubt, hash)
		}
	}
	fresh, err := s.cfg.Files.Fresh(ctx, doubt)
	if err != nil {
		return nil, &logError{fmt.Errorf("ask the log for the states of %d files: %w", len(doubt), err)}
	}
	maps.Copy(known, fresh)
	for i, hash := range hashes {
		l.state[i] = known[hash]
	}
	return l, nil
}

// doubtful reports whether a file's state that this process remembers would end the
// step, so that no command finds out that it is outdated: an operator may have taken
// the file up again, or another process may have downloaded it.
func doubtful(job domain.JobState, file domain.FileState) bool {
	switch file {
	case domain.FileSkipped, domain.FileIgnore, domain.FileAbandoned:
		return true
	case domain.FileDiscovered, domain.FileDownloading, domain.FileDownloadingFailed:
		return job == domain.JobProcessing
	}
	return false
}

// known loads the files' states and makes those known that are not.
func (s *steps) known(ctx context.Context, p Profile, t *JobTask, files []file) (*lives, error) {
	for range 2 {
		l, err := s.lives(ctx, p, t, files)
		if err != nil {
			return nil, err
		}
		var missing []file
		for i, f := range files {
			if l.state[i].State == domain.FileNone {
				missing = append(missing, f)
			}
		}
		if missing == nil {
			return l, nil
		}
		err = s.discover(ctx, t, missing)
		if isRefused(err) {
			return nil, contentProblem(domain.CodeManifestInvalid, "%v", err)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, &logError{errors.New("files that were made known are not in the log")}
}

// do asks for commands and keeps what the files have become. That the rules refuse
// one is no error: somebody else moved the file, and its state says to where.
func (l *lives) do(ctx context.Context, commandID string, asks []ask) error {
	if len(asks) == 0 {
		return nil
	}
	ctx, cancel, err := commitContext(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	all := make([]files.Request, len(asks))
	for n, a := range asks {
		all[n] = files.Request{Hash: l.state[a.i].Hash, Command: a.cmd}
	}
	results, err := l.s.cfg.Files.All(ctx, all, eventstore.Meta{Actor: l.t.actor, CommandID: commandID, TraceParent: l.t.trace.Parent()})
	if err != nil {
		return &logError{fmt.Errorf("write the events of %d files: %w", len(asks), err)}
	}
	var failed error
	for n, r := range results {
		switch i := asks[n].i; {
		case r.Err == nil:
			l.state[i] = r.File
		case isRefused(r.Err):
			l.t.Log.Info("a file was moved by somebody else", "file", l.files[i].Name, "state", r.File.State, "error", r.Err)
			if r.Seq > 0 {
				l.state[i] = r.File
			}
		case failed == nil:
			failed = &logError{fmt.Errorf("write the events of %s: %w", l.files[i].Name, r.Err)}
		}
	}
	return failed
}

// end is do for the ends of attempts that are under way: while the log is away it
// waits, as long as the claim holds, so that no attempt is lost.
func (l *lives) end(ctx context.Context, asks []ask) error {
	for n := 0; ; n++ {
		err := l.do(ctx, "", asks) // one that was written after all is refused now, and its state kept
		var away *logError
		if !errors.As(err, &away) || errors.Is(err, eventstore.ErrBroken) {
			return err
		}
		l.t.Log.Warn("the log does not take the events of files; trying again", "error", err)
		pause(ctx, min(l.s.cfg.RetryDelay<<min(n, 10), max(maxDelay, l.s.cfg.RetryDelay)))
	}
}

// each makes the asks for those files for which cmd gives a command.
func (l *lives) each(ctx context.Context, commandID string, cmd func(domain.File) domain.FileCommand) error {
	return l.do(ctx, commandID, l.asks(cmd))
}

// asks gives those of the files for which cmd gives a command.
func (l *lives) asks(cmd func(domain.File) domain.FileCommand) (asks []ask) {
	for i, f := range l.state {
		if c := cmd(f); c != nil {
			asks = append(asks, ask{i, c})
		}
	}
	return asks
}

// endLost asks to end attempts under way (F5, F13) whose workers are gone, since the
// job is claimed by another. The claim is confirmed after the attempts were seen:
// this worker may be the one that is gone, and have slept through it.
func (l *lives) endLost(ctx context.Context, cmd func(domain.File) domain.FileCommand) error {
	asks := l.asks(cmd)
	if asks == nil {
		return nil
	}
	if err := l.s.cfg.Claims.Confirm(ctx, l.t.Claim); err != nil {
		return &logError{err}
	}
	return l.do(ctx, "", asks)
}

// reopen takes up again what was given up before the job was requeued (O1, O2),
// once for each requeue: what is given up after it stays so.
func (l *lives) reopen(ctx context.Context, given domain.FileState) error {
	if l.t.Job.RetryCount == 0 {
		return nil
	}
	id := fmt.Sprintf("%s/requeue/%d/%s", l.t.Job.ID, l.t.Job.RetryCount, given)
	return l.each(ctx, id, func(f domain.File) domain.FileCommand {
		if f.State != given {
			return nil
		}
		return domain.ReopenFile{Reason: domain.Reason{Class: domain.ClassWait, Code: codeRequeued,
			Message: fmt.Sprintf("its job was requeued for the %d. time", l.t.Job.RetryCount)}}
	})
}

// limits bound the attempts of a step of a file, so many of which were started.
// What failed through our own fault does not use them up.
func (l *lives) limits(f domain.File, started int) domain.Limits {
	most := l.max
	if r := f.Reason; r != nil && r.Class == domain.ClassSystem && r.Code != domain.CodeWorkerLost {
		most = max(most, started+1)
	}
	return domain.Limits{Max: most}
}

// leftOut reports whether an operator keeps the file out of the object (F9).
func (l *lives) leftOut(i int) bool { return l.state[i].State == domain.FileSkipped }
