package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// FilePage is a page of a list of files. There may be very many: how many a job or a
// batch has stands in its counts, and nobody waits until those that a filter chooses
// are counted.
type FilePage struct {
	Files     []FileRow `json:"files"`
	Truncated bool      `json:"truncated"`
	Next      string    `json:"next,omitempty"`
}

// The columns' comments in the database say what the fields of rows mean.
type (
	// FileFilter chooses files.
	FileFilter = query.FileFilter
	// FileRow is a file as the tables have it.
	FileRow = query.FileRow
	// FileCounts tells how many files stand where, and their bytes.
	FileCounts = query.FileCounts
	// FileTransition is one change of a file's state.
	FileTransition = query.FileTransition
)

// Files lists files in the order of their discovery, those of a job as its manifest
// has them.
func (a *App) Files(ctx context.Context, f FileFilter) (p FilePage, err error) {
	db, err := a.Open.DB(ctx)
	if err != nil {
		return p, explain("list files", err)
	}
	if f.After != "" {
		if _, err := query.FileByHash(ctx, db, f.After); errors.Is(err, query.ErrNotFound) {
			return p, &Error{Kind: NotFound, What: "list files", Err: fmt.Errorf("there is no file %s to begin after", f.After),
				Hint: "give the last hash of the page before"}
		} else if err != nil {
			return p, explain("list files", err)
		}
	}
	p.Files, p.Truncated, err = page(f.Limit, func(limit int) ([]FileRow, error) {
		f.Limit = limit
		return query.Files(ctx, db, f)
	})
	if p.Truncated {
		p.Next = p.Files[len(p.Files)-1].RawFileHash
	}
	return p, explain("list files", err)
}

// FileView is a file, every change of its state and every failed attempt.
type FileView struct {
	FileRow
	Transitions []FileTransition `json:"transitions"`
	Retries     []Retry          `json:"retries"`
	At          *Place           `json:"at,omitempty"` // as of which event, nil = now
}

// File shows one file with its history.
func (a *App) File(ctx context.Context, id domain.FileHash) (v FileView, err error) {
	what := "show file " + string(id)
	db, err := a.Open.DB(ctx)
	if err != nil {
		return v, explain(what, err)
	}
	if v.FileRow, err = query.FileByHash(ctx, db, id); errors.Is(err, query.ErrNotFound) {
		return v, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such file in the tables"),
			Hint: "`accession file ls --job JID` lists a job's files; `accession status` tells how far the tables are behind"}
	}
	if err != nil {
		return v, explain(what, err)
	}
	moves, err := query.FileHistory(ctx, db, id)
	if err != nil {
		return v, explain(what, err)
	}
	retries, err := query.RetriesOfFile(ctx, db, id)
	v.Transitions, v.Retries = notNil(moves), notNil(retries)
	return v, explain(what, err)
}

// FileAt shows a file as it was.
func (a *App) FileAt(ctx context.Context, id domain.FileHash, m Moment) (v FileView, err error) {
	past, at, err := a.filePast(ctx, id, m)
	if err != nil {
		return v, explain("show file "+string(id), err)
	}
	if v.FileRow, err = past.File(id); err != nil {
		return v, notYet("file "+string(id), at, err)
	}
	v.At, v.Transitions, v.Retries = &at, notNil(past.FileTransitions()), notNil(past.Retries(domain.KindFile))
	return v, nil
}

// The codes of an operator's reasons.
const (
	codeRequested         domain.Code = "requested"
	codeSkippedByOperator domain.Code = "skipped_by_operator"
)

// RequeueFile takes a file up again that was ignored, abandoned or skipped (O1 to
// O3); its attempts count from 0.
func (a *App) RequeueFile(ctx context.Context, hash domain.FileHash, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		why = "taken up again"
	}
	return a.changeFile(ctx, "requeue", hash, domain.ReopenFile{
		Reason: domain.Reason{Class: domain.ClassWait, Code: codeRequested, Message: why}})
}

// SkipFile leaves a downloaded file out (F9): its object is made without it, and
// the report names it. A reason is required.
func (a *App) SkipFile(ctx context.Context, hash domain.FileHash, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		return Changed{}, &Error{Kind: Invalid, What: "skip " + string(hash), Err: errors.New("leaving a file out needs a reason"),
			Hint: "say why with --reason; it stays in the history"}
	}
	return a.changeFile(ctx, "skip", hash, domain.SkipFile{
		Reason: domain.Reason{Class: domain.ClassCancelled, Code: codeSkippedByOperator, Message: why}})
}

// changeFile decides and writes an operator's command about a file.
func (a *App) changeFile(ctx context.Context, verb string, hash domain.FileHash, cmd domain.FileCommand) (Changed, error) {
	what := verb + " " + string(hash)
	files, err := a.Open.FileHandler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	before, err := files.Load(ctx, hash)
	if errors.Is(err, eventstore.ErrNotFound) {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such file"), Hint: "`accession job show` lists the files of a job"}
	}
	if err != nil {
		return Changed{}, explain(what, err)
	}
	c := Changed{Subject: hash.Aggregate().String(), From: string(before.State), DryRun: a.DryRun}
	if a.DryRun {
		dec, err := domain.DecideFile(before, cmd)
		if err != nil {
			return Changed{}, explain(what, err)
		}
		last := dec.Events[len(dec.Events)-1]
		m, _ := domain.MoveOfFile(last.Data)
		c.Version, c.State, c.Row = last.Version, string(m.To), strings.Join(dec.Rows, ", ")
		return c, nil
	}
	res, err := files.File(ctx, hash, cmd, a.order())
	if err != nil {
		return Changed{}, explain(what, err)
	}
	c.Version, c.State, c.Row = res.File.Version, string(res.File.State), strings.Join(res.Rows, ", ")
	return c, nil
}
