package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// The columns' comments in the database say what the fields of rows mean.
type (
	// FileFilter chooses files.
	FileFilter = projections.FileFilter
	// FileRow is a file as the tables have it.
	FileRow = projections.FileRow
	// FileCounts tells how many files stand where, and their bytes.
	FileCounts = projections.FileCounts
	// FileTransition is one change of a file's state.
	FileTransition = projections.FileTransition
)

// Files lists files in the order of their discovery, those of a job as its manifest
// has them.
func (a *App) Files(ctx context.Context, f FileFilter) (p FilePage, err error) {
	db, err := a.World.DB(ctx)
	if err != nil {
		return p, explain("list files", err)
	}
	if f.After != "" {
		if _, err := projections.FileByHash(ctx, db, f.After); errors.Is(err, projections.ErrNotFound) {
			return p, &Error{Kind: NotFound, What: "list files", Err: fmt.Errorf("there is no file %s to begin after", f.After),
				Hint: "give the last hash of the page before"}
		} else if err != nil {
			return p, explain("list files", err)
		}
	}
	p.Files, p.Truncated, err = page(f.Limit, func(limit int) ([]FileRow, error) {
		f.Limit = limit
		return projections.Files(ctx, db, f)
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
	db, err := a.World.DB(ctx)
	if err != nil {
		return v, explain(what, err)
	}
	if v.FileRow, err = projections.FileByHash(ctx, db, id); errors.Is(err, projections.ErrNotFound) {
		return v, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such file in the tables"),
			Hint: "`accession file ls --job JID` lists a job's files; `accession status` tells how far the tables are behind"}
	}
	if err != nil {
		return v, explain(what, err)
	}
	moves, err := projections.FileHistory(ctx, db, id)
	if err != nil {
		return v, explain(what, err)
	}
	retries, err := projections.RetriesOfFile(ctx, db, id)
	v.Transitions, v.Retries = notNil(moves), notNil(retries)
	return v, explain(what, err)
}
