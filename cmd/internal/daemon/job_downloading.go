package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// jobDownloading brings every file of the object into the working directory (J8,
// J9), each through its own life in the log. Files that an earlier claim has left
// there, and that are what the deposit says, are not fetched again.
func (s *steps) jobDownloading(ctx context.Context, t *JobTask) Outcome {
	p, out := s.profile(t)
	if out != nil {
		return *out
	}
	files, err := s.files(ctx, p, t)
	if err != nil {
		return s.downloadFailed(err, "the manifest could not be read")
	}
	if len(files) > p.Limits.MaxFiles {
		return fail(domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid,
			Message: fmt.Sprintf("the object has %d files, more than the %d that its collection allows", len(files), p.Limits.MaxFiles)})
	}
	work, err := s.work(p)
	if err != nil {
		return s.trouble(err, "open the working directory")
	}
	l, err := s.known(ctx, p, t, files)
	if err != nil {
		return s.downloadFailed(err, "")
	}
	d := transfer{lives: l, p: p, work: work, batch: t.Job.Configuration.BatchID,
		found: make([]found, len(files)), got: make([]bool, len(files)), errs: make([]error, len(files))}
	if err := d.run(ctx); err != nil {
		return s.downloadFailed(err, "")
	}
	cmd := domain.DownloadJob{}
	for i, f := range l.state {
		if !l.leftOut(i) {
			cmd.Files++
			cmd.Bytes = plus(cmd.Bytes, f.Size)
		}
	}
	cmd.Priority = p.Priority.ForObject(t.Job.Priority, cmd.Bytes)
	return nextJob(cmd)
}

// downloadFailed tells what the depositor's side did wrong from what ours did.
func (s *steps) downloadFailed(err error, doing string) Outcome {
	var away *logError
	if !errors.As(err, &away) && !ours(err) {
		return fail(reasonOf(err, doing))
	}
	return s.trouble(err, "keep the files")
}

// ours reports whether an error is a matter of our own side.
func ours(err error) bool {
	var why *problem
	return !theirs(err) && !errors.As(err, &why)
}
