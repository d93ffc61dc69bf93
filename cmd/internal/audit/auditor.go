package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/replica"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// Auditor reads all stored objects from time to time, and compares them with the log and
// the records. One process audits at a time; a pass that was interrupted is continued
// with the object it was at. A file that is missing or changed is noted in the records,
// and once its job is completed its history says that it is given up (F16 and F15). If a
// sound copy is put back, its history says that too (O2, F11 and F12). Rows that the inventory
// lacks are made again, and what describes an object of OCFL (see [store.Store.SettleOCFL]).
// A file that a replica has is copied back from it, and what a replica lacks is copied to it.
// The auditor changes nothing else that deposits have stored, and no rows that are there.
type Auditor struct {
	Config
	Files *files.Handler
	// Restore makes rows of the inventory again that are missing. It returns an error if a
	// server was put back to an older copy: then nothing is made again.
	Restore  func(ctx context.Context, missing []consistency.Finding) error
	Interval time.Duration // from the end of a pass to the begin of the next, 0 = no passes
	Pending  *replica.Pending
	Log      *slog.Logger
}

// Actor writes the events of the auditor.
const Actor = "daemon/auditor"

// look is how often an auditor looks whether it is time.
const look = time.Minute

// auditAPage is after how many versions the auditor saves its position.
const auditAPage = 16

// Run audits, and copies to replicas what is pending, until ctx ends.
func (a *Auditor) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.Pending.Run(ctx) })
	g.Go(func() error { return a.passes(ctx) })
	return g.Wait()
}

// passes audits until ctx ends.
func (a *Auditor) passes(ctx context.Context) error {
	for {
		if a.Interval > 0 {
			if _, err := a.Once(ctx); err != nil && ctx.Err() == nil {
				a.Log.Warn("the audit stopped; it is continued in a minute", "error", err)
			}
		}
		select {
		case <-time.After(min(look, max(a.Interval, time.Millisecond))):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once makes or continues a pass if it is time and no other process does. done reports
// whether it completed one.
func (a *Auditor) Once(ctx context.Context) (done bool, err error) {
	release, leads, err := a.Records.LeadAudit(ctx)
	if err != nil || !leads {
		return false, err
	}
	defer release()
	pass, due, err := a.Records.BeginAudit(ctx, a.Interval)
	if err != nil || !due {
		return false, err
	}
	a.Log.Info("audit", "from", pass.Position)
	if err := a.pass(ctx, &pass); err != nil {
		return false, err
	}
	a.Log.Info("audit is complete", "objects", pass.Objects, "files", pass.Files, "bytes", pass.Bytes, "findings", pass.Findings)
	return true, a.Records.EndAudit(ctx)
}

// pass compares everything from the position of the pass on.
func (a *Auditor) pass(ctx context.Context, pass *record.AuditPass) error {
	h, err := a.history(ctx)
	if err != nil {
		return err
	}
	cfg := a.Config
	cfg.Deep, cfg.Range = true, Range{From: pass.Position}
	c := newChecker(cfg)
	c.size = auditAPage
	var corrupt corruptFiles
	c.corrupt, c.pending = corrupt.add, a.pending
	before, seen := *pass, 0
	c.paged = func(ctx context.Context, page []*version) error {
		if err := a.settle(ctx, page, corrupt.take()); err != nil {
			return err
		}
		if err := a.restore(ctx, c.report.Findings[seen:]); err != nil {
			return err
		}
		seen = len(c.report.Findings)
		pass.Position = c.report.Last
		pass.Objects, pass.Files = before.Objects+int64(c.report.Versions), before.Files+c.files.Load()
		pass.Bytes, pass.Findings = before.Bytes+c.read.Load(), before.Findings+int64(len(c.report.Findings))
		return a.Records.SaveAudit(ctx, *pass)
	}
	if err := c.versions(ctx, c.selected(h)); err != nil {
		return err
	}
	c.Range = Range{} // what no job explains is looked for in all
	if err := c.unexplained(ctx, h); err != nil {
		return err
	}
	if err := c.keys(ctx, h); err != nil {
		return err
	}
	for _, f := range c.report.Findings {
		a.Log.Error("the audit found a difference", "code", f.Code, "in", f.In, "about", f.Subject, "where", f.Where, "expected", f.Want, "found", f.Got)
	}
	pass.Findings = before.Findings + int64(len(c.report.Findings))
	return a.Records.SaveAudit(ctx, *pass)
}

// history reads the log.
func (a *Auditor) history(ctx context.Context) (*History, error) {
	h := NewHistory()
	info, err := a.Servers.Log.Info(ctx)
	if err != nil || info.Last == 0 {
		return h, err
	}
	for r, err := range a.Servers.Log.Read(ctx, eventstore.ReadOptions{To: info.Last}) {
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		h.Observe(r)
	}
	return h, nil
}

// corruptFile is a file that is corrupt.
type corruptFile struct {
	record.Corrupt
	mend func(context.Context) error // copies it back from a replica, nil = none has it
}

// corruptFiles collects what is corrupt.
type corruptFiles struct {
	mu  sync.Mutex
	all []corruptFile
}

func (l *corruptFiles) add(c corruptFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, c)
}

func (l *corruptFiles) take() []corruptFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// settle keeps what is corrupt of a page of versions, and what is sound again. The note is
// written before the history, so that an auditor that dies in between repeats the rest.
func (a *Auditor) settle(ctx context.Context, page []*version, corrupt []corruptFile) error {
	is := map[string]bool{}
	for _, c := range corrupt {
		is[c.Key] = true
		if err := a.Records.NoteCorrupt(ctx, c.Corrupt); err != nil {
			return err
		}
		if err := a.mend(ctx, c); err != nil {
			return err
		}
	}
	jobs, unread := make([]string, len(page)), map[record.VersionID]bool{}
	for i, v := range page {
		jobs[i] = string(v.Job)
		unread[v.VersionID] = is[v.manifestKey()] // then not all of its files were looked at
	}
	known, err := a.Records.CorruptOf(ctx, jobs...)
	for _, c := range known {
		if err == nil && !is[c.Key] && !unread[c.VersionID] {
			err = a.takeBack(ctx, c)
		}
	}
	return err
}

// pending keeps that a replica is to be made, or made again because of what was found. It is
// made beside the pass, see [replica.Pending].
func (a *Auditor) pending(ctx context.Context, v record.Replicated, location, found string) error {
	if found == "" {
		return a.Records.RequireReplicas(ctx, v, []string{location})
	}
	return a.Records.RepeatReplica(ctx, v, location, found)
}

// mend copies a corrupt file back from a replica; without one it is given up.
func (a *Auditor) mend(ctx context.Context, c corruptFile) error {
	if c.mend == nil {
		return a.giveUp(ctx, c.Corrupt)
	}
	if err := c.mend(ctx); err != nil {
		a.Log.Error("a replica has no sound copy either", "key", c.Key, "error", err)
		return cmp.Or(ctx.Err(), a.giveUp(ctx, c.Corrupt))
	}
	a.Log.Warn("a corrupt file was copied back from a replica", "code", c.Code, "key", c.Key, "object", c.Object, "version", c.Version, "job", c.Job, "found", c.Found)
	return a.takeBack(ctx, c.Corrupt)
}

// made are the findings whose cause the auditor mends: the inventory lacks something, what
// describes an object of OCFL is not that of its newest version, or what was withdrawn is there.
var made = []domain.Code{consistency.VersionUnrecorded, consistency.IdentifierMissing, consistency.LocalIDMissing, consistency.OCFLInventoryWrong, consistency.WithdrawnStored}

// restore makes again what the inventory lacks, from storage manifests whose SHA-256 is that
// in the log, and what describes objects of OCFL, from the inventories of their newest
// versions. What cannot be made again is left for a person; the pass goes on.
func (a *Auditor) restore(ctx context.Context, found []consistency.Finding) error {
	missing := slices.DeleteFunc(slices.Clone(found), func(f consistency.Finding) bool {
		return f.Severity != consistency.Repairable || !slices.Contains(made, f.Code)
	})
	if len(missing) == 0 {
		return nil
	}
	if err := a.Restore(ctx, missing); err != nil {
		a.Log.Error("what the inventory or an object lacks is not made again", "findings", len(missing), "first", missing[0].Subject, "error", err)
		return ctx.Err()
	}
	a.Log.Warn("what the inventory or an object lacked was made again", "findings", len(missing), "first", missing[0].Subject)
	return nil
}

// takeBack notes that a file which was corrupt is sound again. The history is written
// before the note, so that an auditor that dies in between repeats the rest.
func (a *Auditor) takeBack(ctx context.Context, c record.Corrupt) error {
	a.Log.Info("what was corrupt is sound again", "key", c.Key, "job", c.Job)
	if err := a.file(ctx, c, domain.RestoreOutput{Worker: Actor, Key: c.Key}); err != nil {
		return err
	}
	return a.Records.SettleCorrupt(ctx, c, record.CorruptSound)
}

// file writes into the history of a stored file. That its state does not allow it is not
// an error: it was written already, or another reason stands in the history.
func (a *Auditor) file(ctx context.Context, c record.Corrupt, cmd domain.FileCommand) error {
	if store.FileKind(c.Kind) != store.KindProducer {
		return nil
	}
	_, err := a.Files.File(ctx, domain.HashFile(string(c.Job), c.Name), cmd, eventstore.Meta{Actor: Actor})
	var refused *domain.Refused
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// giveUp writes into the history of a file that what is stored of it is corrupt, once its
// job is completed or gone. Before that its job's worker may work on it.
func (a *Auditor) giveUp(ctx context.Context, c record.Corrupt) error {
	a.Log.Error("a stored file is corrupt", "code", c.Code, "key", c.Key, "object", c.Object, "version", c.Version, "job", c.Job, "found", c.Found)
	events, err := events(ctx, a.Servers.Log, c.Job)
	if err != nil {
		return err
	}
	job := domain.Job{ID: c.Job}
	for _, e := range events {
		if job, err = domain.EvolveJob(job, e); err != nil {
			return err
		}
	}
	if job.State != domain.JobCompleted && job.State != domain.JobDeleted {
		return nil // a later pass does it
	}
	why := domain.Reason{Class: domain.ClassSystem, Code: domain.CodeObjectCorrupt,
		Message: fmt.Sprintf("what is stored of it in version %d of %s is not what was stored: %s", c.Version, c.Object, c.Found)}
	if err := a.file(ctx, c, domain.FailOutput{Reason: why}); err != nil {
		return err
	}
	return a.Records.SettleCorrupt(ctx, c, record.CorruptGivenUp)
}
