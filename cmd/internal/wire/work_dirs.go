package wire

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// Inspect implements app.LiveState.
func (w *World) Inspect(ctx context.Context) (consistency.Live, error) {
	s, err := w.Store(ctx)
	return consistency.Live{Inspector: s, Layout: s, State: s}, err
}

// WorkDirs implements app.Effects: in every place that a profile names, and in that of
// the installation.
func (w *World) WorkDirs(ctx context.Context) ([]consistency.WorkDir, error) {
	places := map[string]bool{w.cfg.WorkDir: true}
	profiles, err := w.Profiles()
	if err != nil {
		return nil, err
	}
	for _, name := range profiles.Names() {
		if p, err := profiles.Get(name); err == nil && p.WorkingDir != "" {
			places[p.WorkingDir] = true
		}
	}
	var all []consistency.WorkDir
	for place := range places {
		found, err := w.workDirs(ctx, place)
		if err != nil {
			return nil, failed("list the working directory "+place, err, "the setting work_dir and working_dir of the profiles name such places")
		}
		all = append(all, found...)
	}
	return all, nil
}

func (w *World) workDirs(_ context.Context, place string) (all []consistency.WorkDir, err error) {
	work, err := store.FindWork(place, w.cfg.Instance)
	if store.CodeOf(err) == store.CodeNotFound {
		return nil, nil // never used, or on another machine: nothing to look at here
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	found, err := work.List()
	for _, l := range found {
		if l.Job == "" {
			continue
		}
		all = append(all, consistency.WorkDir{Path: work.Path(l.Batch, l.Job), Batch: l.Batch, Job: l.Job, Remove: func() error {
			again, err := store.FindWork(place, w.cfg.Instance)
			if err != nil {
				return err
			}
			return errors.Join(again.Remove(l.Batch, l.Job), again.Close())
		}})
	}
	return all, err
}
