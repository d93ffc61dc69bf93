package wire

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// RemoveWork implements app.Effects: in the working directory that the job's profile
// names, or in that of the installation.
func (w *World) RemoveWork(ctx context.Context, j domain.Job) error {
	batch := j.Configuration.BatchID
	profiles, err := w.Profiles()
	if err != nil {
		return err
	}
	p, err := profiles.Get(j.Configuration.ProfileName)
	if err != nil || p.WorkingDir == "" {
		work, err := w.Work(ctx)
		if err != nil {
			return err
		}
		return work.Remove(batch, j.ID)
	}
	work, err := store.OpenWork(p.WorkingDir, w.cfg.Instance)
	if err != nil {
		return err
	}
	return errors.Join(work.Remove(batch, j.ID), work.Close())
}
