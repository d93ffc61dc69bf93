package wire

import (
	"cmp"
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// Work returns the working directory of the installation.
func (in *Installation) Work(ctx context.Context) (*store.Work, error) {
	return in.work.get(ctx, func(context.Context) (*store.Work, error) {
		s, err := store.OpenWork(in.cfg.WorkDir, in.cfg.Instance)
		return s, failed("open the working directory", err, "the setting work_dir names it: "+in.cfg.WorkDir)
	})
}

// RemoveWork implements app.Effects: in the working directory that the job's profile
// names, or in that of the installation.
func (in *Installation) RemoveWork(ctx context.Context, j domain.Job) error {
	batch := j.Configuration.BatchID
	profiles, err := in.profileSet(ctx)
	if err != nil {
		return err
	}
	p, err := profiles.Get(j.Configuration.ProfileName)
	if err != nil && !profile.Missing(err) {
		return err
	}
	if err != nil || p.WorkingDir == "" {
		work, err := in.Work(ctx)
		if err != nil {
			return err
		}
		return work.Remove(batch, j.ID)
	}
	work, err := store.OpenWork(p.WorkingDir, in.cfg.Instance)
	if err != nil {
		return err
	}
	return errors.Join(work.Remove(batch, j.ID), work.Close())
}

// WorkFiles lists the working files of a job: in the directory that its profile names, or in
// that of the installation.
func (in *Installation) WorkFiles(ctx context.Context, j domain.Job, limit int) (files []store.WorkFile, more bool, err error) {
	work, err := in.workOf(ctx, j.Configuration.ProfileName)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	return work.FilesOf(j.Configuration.BatchID, j.ID, limit)
}

// workOf opens the working directory that a profile names, or that of the installation.
func (in *Installation) workOf(ctx context.Context, name string) (*store.Work, error) {
	profiles, err := in.profileSet(ctx)
	if err != nil {
		return nil, err
	}
	p, err := profiles.Get(name)
	if err != nil && !profile.Missing(err) {
		return nil, err
	}
	return store.FindWork(cmp.Or(p.WorkingDir, in.cfg.WorkDir), in.cfg.Instance)
}

// WorkDirs implements app.Effects: in every directory that a profile names, and in that
// of the installation.
func (in *Installation) WorkDirs(ctx context.Context) (all []consistency.WorkDir, err error) {
	dirs := map[string]bool{in.cfg.WorkDir: true}
	profiles, err := in.profileSet(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range profiles.Names() {
		p, err := profiles.Get(name)
		if err != nil && !profile.Missing(err) {
			return nil, err
		}
		if p.WorkingDir != "" {
			dirs[p.WorkingDir] = true
		}
	}
	for dir := range dirs {
		found, err := in.workDirs(dir)
		if err != nil {
			return nil, failed("list the working directory "+dir, err, "the setting work_dir and working_dir of the profiles name such directories")
		}
		all = append(all, found...)
	}
	return all, nil
}

func (in *Installation) workDirs(dir string) (all []consistency.WorkDir, err error) {
	work, err := store.FindWork(dir, in.cfg.Instance)
	if store.CodeOf(err) == store.CodeNotFound {
		return nil, nil // never used, or on another machine
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	found, err := work.List()
	for _, l := range found {
		all = append(all, consistency.WorkDir{Path: work.Path(l.Batch, l.Job), Job: l.Job, Remove: func() error {
			again, err := store.FindWork(dir, in.cfg.Instance)
			if err != nil {
				return err
			}
			return errors.Join(again.Remove(l.Batch, l.Job), again.Close())
		}})
	}
	return all, err
}
