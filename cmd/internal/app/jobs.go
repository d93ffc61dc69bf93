package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// filesShown is how many files are shown with their job; `accession file ls` lists
// them all.
const filesShown = 20

// JobView is a job, the first of its files and how many there are, every change of
// its state and every failed attempt.
type JobView struct {
	projections.JobRow
	FileCounts  FileCounts                  `json:"file_counts"`
	FirstFiles  []FileRow                   `json:"first_files"`
	Transitions []projections.JobTransition `json:"transitions"`
	Retries     []projections.Retry         `json:"retries"`
	At          *Place                      `json:"at,omitempty"` // as of which event, nil = now
}

// Job shows one job with its files and its history.
func (a *App) Job(ctx context.Context, id domain.JobID) (v JobView, err error) {
	what := "show " + string(id)
	db, err := a.World.DB(ctx)
	if err != nil {
		return v, explain(what, err)
	}
	if v.JobRow, err = projections.JobByID(ctx, db, id); errors.Is(err, projections.ErrNotFound) {
		return v, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such job in the tables"),
			Hint: "`accession job ls --batch BID` lists a batch's jobs; `accession status` tells how far the tables are behind"}
	}
	if err != nil {
		return v, explain(what, err)
	}
	moves, err := projections.Transitions(ctx, db, id)
	if err != nil {
		return v, explain(what, err)
	}
	if v.FileCounts, err = projections.CountFiles(ctx, db, id.Aggregate()); err != nil {
		return v, explain(what, err)
	}
	files, err := projections.Files(ctx, db, projections.FileFilter{Job: id, Limit: filesShown})
	if err != nil {
		return v, explain(what, err)
	}
	v.FirstFiles = notNil(files)
	retries, err := projections.RetriesOfJob(ctx, db, id)
	v.Transitions, v.Retries = notNil(moves), notNil(retries)
	return v, explain(what, err)
}
