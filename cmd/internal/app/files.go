package app

import (
	"cmp"
	"context"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// The comments of the columns in the database document the fields.
type (
	// FileFilter selects files.
	FileFilter = query.FileFilter
	// FileRow is a file as the tables have it.
	FileRow struct {
		ID string `json:"id"` // its hash
		query.FileRow
	}
	// FileCounts counts files and their bytes by state.
	FileCounts = query.FileCounts
	// FileTransition is one change of a file's state.
	FileTransition = query.FileTransition
)

func fileOf(row query.FileRow) FileRow { return FileRow{row.RawFileHash, row} }

// Files lists files in the order of their discovery, those of a job as its manifest
// has them, or in the order that sort names, from a cursor on. A batch or job that does
// not exist is an error. There may be very many: FileCounts has those of a job or a batch;
// those that a filter selects are counted only to be sorted.
func (a *App) Files(ctx context.Context, f FileFilter, from Cursor, sort string) (p Page[FileRow], err error) {
	defer Explained(&err, "list files")
	t, limit := a.read(ctx), pageLimit(f.Limit)
	f.Limit = limit + 1
	if sort != "" {
		p, err = sortableFiles.page(ctx, t, f, limit, sort, from)
	} else if f.After, err = After(from, domain.KindFile, domain.ParseFileHash); err == nil {
		if f.After != "" {
			ask(ctx, t, query.FileByHash, f.After)
			t.err = missing(t.err, "begin with the first page again", "there is no file %s to begin after", f.After)
		}
		p = PageOf(limit, shown(ask(ctx, t, query.Files, f), fileOf), domain.KindFile, func(f FileRow) string { return f.ID })
	}
	if err != nil {
		return p, err
	}
	if t.err == nil && len(p.Items) == 0 {
		t.err = a.knownIn(ctx, t, f.Batch, f.Job)
	}
	return p, t.err
}

// FileView is a file, every change of its state and every failed attempt.
type FileView struct {
	FileRow
	Transitions []FileTransition  `json:"transitions"`
	Retries     []Retry           `json:"retries"`
	Waits       []query.Wait      `json:"waits,omitempty"`   // what a downloaded file without a job waits for, now
	Entries     []query.FileEntry `json:"entries,omitempty"` // of the compute queue, for attempts at a file without a job, newest first
	At          *AsOf             `json:"at,omitempty"`      // as of which event, nil = now
}

// File shows one file with its history.
func (a *App) File(ctx context.Context, id domain.FileHash) (v FileView, err error) {
	defer Explained(&err, "show file "+string(id))
	t := a.read(ctx)
	v.FileRow = fileOf(ask(ctx, t, query.FileByHash, id))
	v.Transitions = notNil(ask(ctx, t, query.FileHistory, id))
	v.Retries = notNil(ask(ctx, t, query.RetriesOfFile, id))
	return v, missing(t.err, "`accession file ls --job JID` lists a job's files; `accession status` shows how far the tables are behind",
		"there is no such file in the tables")
}

// FileAt shows a file as it was.
func (a *App) FileAt(ctx context.Context, id domain.FileHash, m Moment) (v FileView, err error) {
	defer Explained(&err, "show file "+string(id))
	past, at, err := a.filePast(ctx, id, m)
	if err != nil {
		return v, err
	}
	row, err := past.File(id)
	v.FileRow = fileOf(row)
	v.At, v.Transitions, v.Retries = &at, notNil(past.FileTransitions()), notNil(past.Retries(domain.KindFile))
	return v, notYet(at, err)
}

// RequeueFile requeues a file that was ignored, abandoned or skipped (O1 to O3); its
// attempts count from 0. The job that failed with a file which was given up is requeued
// too. A call that ended between the two is completed by the next.
func (a *App) RequeueFile(ctx context.Context, hash domain.FileHash, why string) (c Changed, err error) {
	defer Explained(&err, "requeue "+string(hash))
	files, err := a.Open.FileHandler(ctx)
	if err != nil {
		return c, err
	}
	f, err := files.Load(ctx, hash)
	job := f.Spec.JobID
	failed := err == nil && job != "" && f.State != domain.FileSkipped && a.failed(ctx, job)
	if failed && (f.State == domain.FileDiscovered || f.State == domain.FileReady) {
		c = Changed{Target: target.Of(hash.Aggregate()), Version: f.Version, From: string(f.State), State: string(f.State), DryRun: a.DryRun}
	} else if c, err = a.changeFile(ctx, "requeue", hash, domain.ReopenFile{
		Reason: domain.Reason{Class: domain.ClassWait, Code: codeRequested, Message: orElse(why, "taken up again")}}); err != nil {
		return c, err
	}
	if !failed {
		return c, nil
	}
	j, err := (&App{Open: a.Open, Actor: a.Actor, DryRun: a.DryRun, Command: &Command{ID: a.CommandID()}}).part("job").Requeue(ctx, job, why)
	if err != nil {
		c.add("its job stays failed: %v; later, `accession job requeue %s` requeues it", err, job)
		return c, nil
	}
	c.add("its job %s is requeued and goes on in %s (%s)", job, j.State, j.Row)
	return c, nil
}

// failed reports whether a job is known to be failed.
func (a *App) failed(ctx context.Context, id domain.JobID) bool {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return false
	}
	j, err := handler.Live.Job(ctx, id)
	return err == nil && j.State.State == domain.JobFailed
}

// SkipFile skips a downloaded file (F9): its object is made without it, and the
// report names it. A reason is required.
func (a *App) SkipFile(ctx context.Context, hash domain.FileHash, why string) (c Changed, err error) {
	defer Explained(&err, "skip "+string(hash))
	reason, err := required("leaving a file out", codeSkippedByOperator, why)
	if err != nil {
		return c, err
	}
	return a.changeFile(ctx, "skip", hash, domain.SkipFile{Reason: *reason})
}

// changeFile decides and writes an operator's command about a file.
func (a *App) changeFile(ctx context.Context, verb string, hash domain.FileHash, cmd domain.FileCommand) (c Changed, err error) {
	defer Explained(&err, verb+" "+string(hash))
	files, err := a.Open.FileHandler(ctx)
	if err != nil {
		return c, err
	}
	before, err := files.Load(ctx, hash)
	if err != nil {
		return c, missing(err, "`accession job show` lists the files of a job", "there is no such file")
	}
	c = Changed{Target: target.Of(hash.Aggregate()), From: string(before.State), DryRun: a.DryRun}
	if a.DryRun {
		dec, err := domain.DecideFile(before, cmd)
		if err := cmp.Or(a.Meta().Outdated(before.Version), err); err != nil {
			return Changed{}, err
		}
		m, _ := domain.MoveOfFile(dec.Events[len(dec.Events)-1].Data)
		c.Version, c.State, c.Row = before.Version+int64(len(dec.Events)), string(m.To), strings.Join(dec.Rows, ", ")
		return c, nil
	}
	res, err := files.File(ctx, hash, cmd, a.Meta())
	if err != nil {
		return Changed{}, err
	}
	c.Version, c.State, c.Row = res.File.Version, string(res.File.State), strings.Join(res.Rows, ", ")
	return c, nil
}
