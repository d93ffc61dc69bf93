package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
)

// codeRequeued is why a file that was given up is reopened with its job.
const codeRequeued domain.Code = "requeued"

// fileStates are the files of a claimed job with their states in the log. Commands
// about different files may be sent by several goroutines.
type fileStates struct {
	*steps
	task  *JobTask
	max   int // attempts that the profile allows for each step of a file
	files []payload.File
	state []domain.File // of each of files
}

// fileCommand is a command about the i-th file.
type fileCommand struct {
	i   int
	cmd domain.FileCommand
}

// logError is an error in writing the events of files, or a lost claim: the job does
// not fail for it.
type logError struct{ error }

// Unwrap returns the cause.
func (e *logError) Unwrap() error { return e.error }

// movedError is the logError of a file that another process has moved.
func movedError(name string, state domain.FileState) error {
	return &logError{fmt.Errorf("%s is %s: another process moved it", name, state)}
}

// discover writes that the files exist (F1). Those that are known stay as they are.
func (s *steps) discover(ctx context.Context, t *JobTask, files []payload.File) error {
	found := make([]domain.DiscoverFile, len(files))
	for i, f := range files {
		found[i] = domain.DiscoverFile{Spec: f.Spec(t.Job, t.Profile)}
	}
	fresh := 0
	var refused error
	for part := range slices.Chunk(found, filesPart) {
		n, err := commit(ctx, func(ctx context.Context) (int, error) {
			return s.cfg.Files.DiscoverAll(ctx, part, eventstore.Meta{Actor: t.actor, TraceParent: t.trace.Parent()})
		})
		if err != nil && !isRefused(err) {
			return &logError{fmt.Errorf("write the discovery of %d files: %w", len(files), err)}
		}
		fresh += n
		if refused == nil {
			refused = err
		}
	}
	t.Log.Info("files discovered", "files", len(files), "new", fresh)
	return refused
}

// filesPart is how many files are read or written under one deadline: an object of many
// files takes many of them, and its step ends only with its claim.
const filesPart = files.MaxEvents

// fileStates loads the files' states.
func (s *steps) fileStates(ctx context.Context, t *JobTask, files []payload.File) (*fileStates, error) {
	fs := &fileStates{steps: s, task: t, max: max(t.Profile.Fetch.Attempts, 1), files: files, state: make([]domain.File, len(files))}
	hashes := make([]domain.FileHash, len(files))
	for i, f := range files {
		hashes[i] = domain.HashFile(string(t.Job.ID), f.Name)
	}
	for i := 0; i < len(hashes); i += filesPart {
		part := hashes[i:min(i+filesPart, len(hashes))]
		known, err := s.readStates(ctx, t.Job.State, part)
		if err != nil {
			return nil, &logError{fmt.Errorf("read the states of %d files: %w", len(files), err)}
		}
		for n, hash := range part {
			fs.state[i+n] = known[hash]
		}
	}
	return fs, nil
}

// readStates loads the states of a part of a job's files.
func (s *steps) readStates(ctx context.Context, job domain.JobState, part []domain.FileHash) (map[domain.FileHash]domain.File, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	known, err := s.cfg.Files.Files(ctx, part)
	if err != nil {
		return nil, err
	}
	doubt := slices.DeleteFunc(slices.Clone(part), func(h domain.FileHash) bool { return !doubtful(job, known[h].State) })
	fresh, err := s.cfg.Files.FromLog(ctx, doubt)
	maps.Copy(known, fresh)
	return known, err
}

// doubtful reports whether a file's state that this process remembers would end the
// step, so that no command would show that it is outdated: an operator may have
// reopened the file, or another process may have downloaded it.
func doubtful(job domain.JobState, file domain.FileState) bool {
	switch file {
	case domain.FileSkipped, domain.FileIgnore, domain.FileAbandoned:
		return true
	case domain.FileDownloadingFailed: // in downloading, the log's time of its failure is needed
		return true
	case domain.FileDiscovered, domain.FileDownloading:
		return job == domain.JobProcessing
	}
	return false
}

// discovered loads the files' states, and discovers those that are not known.
func (s *steps) discovered(ctx context.Context, t *JobTask, files []payload.File) (*fileStates, error) {
	for range 2 {
		fs, err := s.fileStates(ctx, t, files)
		if err != nil {
			return nil, err
		}
		var missing []payload.File
		for i, f := range files {
			if fs.state[i].State == domain.FileNone {
				missing = append(missing, f)
			}
		}
		if missing == nil {
			return fs, nil
		}
		err = s.discover(ctx, t, missing)
		if isRefused(err) {
			return nil, reason.Content(domain.CodeManifestInvalid, "%v", err)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, &logError{errors.New("files that were discovered are not in the log")}
}

// do sends commands and keeps the new states of the files. A refusal is no error:
// another process has moved the file, and its new state is kept.
func (fs *fileStates) do(ctx context.Context, commandID string, cmds []fileCommand) error {
	for part := range slices.Chunk(cmds, filesPart) {
		if _, err := commit(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, fs.send(ctx, commandID, part) }); err != nil {
			return err
		}
	}
	return nil
}

func (fs *fileStates) send(ctx context.Context, commandID string, cmds []fileCommand) error {
	if len(cmds) == 0 {
		return nil
	}
	all := make([]files.Request, len(cmds))
	for n, c := range cmds {
		all[n] = files.Request{Hash: fs.state[c.i].Hash, Command: c.cmd}
	}
	results, err := fs.cfg.Files.All(ctx, all, eventstore.Meta{Actor: fs.task.actor, CommandID: commandID, TraceParent: fs.task.trace.Parent()})
	if err != nil {
		return &logError{fmt.Errorf("write the events of %d files: %w", len(cmds), err)}
	}
	var failed error
	for n, r := range results {
		i := cmds[n].i
		switch {
		case r.Err == nil:
		case isRefused(r.Err):
			fs.task.Log.Info("a file was moved by another process", "file", fs.files[i].Name, "state", r.File.State, "error", r.Err)
		case failed == nil:
			failed = &logError{fmt.Errorf("write the events of %s: %w", fs.files[i].Name, r.Err)}
		}
		if r.Err == nil || isRefused(r.Err) && r.Seq > 0 {
			fs.state[i] = r.File
		}
	}
	return failed
}

// end is like do, for commands that end attempts: while the log cannot be reached it
// waits, until the claim is lost, so that no attempt is lost.
func (fs *fileStates) end(ctx context.Context, cmds []fileCommand) error {
	for n := 1; ; n++ {
		err := fs.do(ctx, "", cmds) // a command that was written in spite of the error is refused now, and the state kept
		var away *logError
		if !errors.As(err, &away) || errors.Is(err, eventstore.ErrBroken) || ctx.Err() != nil {
			return err
		}
		fs.task.Log.Warn("the log does not take the events of files; trying again", "error", err)
		pause(ctx, fs.cfg.pauses().Ours(n, 0))
	}
}

// each sends a command about those files for which cmd returns one.
func (fs *fileStates) each(ctx context.Context, commandID string, cmd func(domain.File) domain.FileCommand) error {
	return fs.do(ctx, commandID, fs.commands(cmd))
}

// inState sends cmd about the files in a state.
func (fs *fileStates) inState(ctx context.Context, commandID string, state domain.FileState, cmd domain.FileCommand) error {
	return fs.each(ctx, commandID, func(f domain.File) domain.FileCommand {
		if f.State != state {
			return nil
		}
		return cmd
	})
}

// commands returns the commands about those files for which cmd returns one.
func (fs *fileStates) commands(cmd func(domain.File) domain.FileCommand) (cmds []fileCommand) {
	for i, f := range fs.state {
		if c := cmd(f); c != nil {
			cmds = append(cmds, fileCommand{i, c})
		}
	}
	return cmds
}

// endLost ends open attempts (F5, F13) whose workers have lost the claim. It confirms
// its own claim after it has read the attempts: this worker may itself have lost the
// claim while it was suspended.
func (fs *fileStates) endLost(ctx context.Context, cmd func(domain.File) domain.FileCommand) error {
	cmds := fs.commands(cmd)
	if cmds == nil {
		return nil
	}
	if err := fs.cfg.Claims.Confirm(ctx, fs.task.Claim); err != nil {
		return &logError{err}
	}
	return fs.do(ctx, "", cmds)
}

// reopen reopens files that were given up before the job was requeued (O1, O2), once
// for each requeue: a file that is given up after it stays given up.
func (fs *fileStates) reopen(ctx context.Context, given domain.FileState) error {
	if fs.task.Job.RetryCount == 0 {
		return nil
	}
	id := fmt.Sprintf("%s/requeue/%d/%s", fs.task.Job.ID, fs.task.Job.RetryCount, given)
	return fs.inState(ctx, id, given, domain.ReopenFile{Reason: domain.Reason{Class: domain.ClassWait, Code: codeRequeued,
		Message: fmt.Sprintf("requeue %d of its job", fs.task.Job.RetryCount)}})
}

// limits returns the limits of a step of a file after a number of started attempts.
// Before attempts could be given back, a failure of our own servers was let pass beyond
// the maximum.
func (fs *fileStates) limits(f domain.File, started int) domain.Limits {
	most := fs.max
	if r := f.Reason; r != nil && r.Class == domain.ClassSystem && r.Code != domain.CodeWorkerLost {
		most = max(most, started+1)
	}
	return domain.Limits{Max: most}
}

// giveBackTimeout bounds the last write of a claim that is cut off.
const giveBackTimeout = 5 * time.Second

// giveBack ends the attempts of a claim that a stop of the service ends, unless the
// claim is lost, or may be: then its successor ends them.
func (fs *fileStates) giveBack(ctx context.Context, cmd func(domain.File, domain.Reason) domain.FileCommand) {
	select {
	case <-fs.task.Claim.Lost:
		return
	case <-fs.task.Claim.Silent:
		return
	default:
	}
	why := domain.Reason{Class: domain.ClassCancelled, Code: codeReleased, Message: "the service was stopped; the attempt is not counted"}
	cmds := fs.commands(func(f domain.File) domain.FileCommand { return cmd(f, why) })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if err := crash.Around("daemon/files/give-back", func() error { return fs.send(ctx, "", cmds) }); err != nil {
		fs.task.Log.Warn("the attempts that the stop ended could not be given back", "files", len(cmds), "error", err)
	}
}

// leftOut reports whether an operator keeps the file out of the object (F9).
func (fs *fileStates) leftOut(i int) bool { return fs.state[i].State == domain.FileSkipped }
