// Package ready decides what becomes of downloaded files without a job: they are ready, wait,
// are skipped, or are damaged.
//
// # Promises
//
// Any number of processes may look at once. The candidates come from tables that may be
// behind; each command is decided against the file's last event in the log, which takes one
// outcome. The slot of a file that would become ready is read from the log. A file is
// validated right before it becomes ready, also if it has waited. A slot that a dataset has
// made from the names of its groups, and that no poll has made, is made before one of its files
// is decided about.
package ready

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/validate"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Name is the name of the daemon as an actor.
const Name = "ready"

// Contents are the local copies of files; [store.Local] is one.
type Contents interface {
	// Open opens what was downloaded. [store.CodeNotFound]: it is not there.
	Open(hash domain.FileHash, sha256 string) (*os.File, error)
	// Quarantine puts a damaged content away and returns where, "" = it is not there.
	Quarantine(hash domain.FileHash, sha256 string, version int64) (string, error)
}

// Tables find files and what is around them; [TablesOf] is one.
type Tables interface {
	Waiting(ctx context.Context, after domain.FileHash, limit int) ([]query.WaitingFile, error)
	Around(ctx context.Context, r setting.Rules, f query.WaitingFile) (eligible.Facts, error)
}

// TablesOf are the tables in PostgreSQL.
type TablesOf struct{ DB query.DB }

// Waiting implements Tables.
func (t TablesOf) Waiting(ctx context.Context, after domain.FileHash, limit int) ([]query.WaitingFile, error) {
	return query.WaitingFiles(ctx, t.DB, after, limit)
}

// Around implements Tables.
func (t TablesOf) Around(ctx context.Context, r setting.Rules, f query.WaitingFile) (eligible.Facts, error) {
	return query.Around(ctx, t.DB, r, f)
}

// Checker looks at downloaded files without a job. All fields are required.
type Checker struct {
	Files    *files.Handler
	Tables   Tables
	Contents Contents
	// Rules returns the rules of a dataset as they are now.
	Rules func(ctx context.Context, dataset string) (setting.Rules, error)
	// Limits returns how often the files of each profile are downloaded.
	Limits   func(ctx context.Context) (of func(profile string) domain.Limits, err error)
	Asker    Asker
	Interval time.Duration // of Run, from the end of a pass to the next; above 0
	Log      *slog.Logger
}

// page is how many candidates are looked at before their commands are written.
const page = files.MaxEvents / 2

// Summary is the result of a pass.
type Summary struct {
	Moved  map[domain.FileState]int // files, by the state that they were brought to
	Waits  map[domain.Code]int      // files that wait, by the first that they wait for
	Errors int                      // files that could not be decided; the next pass looks again
}

// Run makes a pass at once and after each interval, until ctx ends.
func (c *Checker) Run(ctx context.Context) error {
	failed := false
	for {
		sum, err := c.Once(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !failed:
			c.Log.Warn("downloaded files cannot be looked at now; it is tried again", "error", err)
		case len(sum.Moved) > 0:
			c.Log.Info("downloaded files decided", "states", sum.Moved, "wait", sum.Waits)
		}
		failed = err != nil
		select {
		case <-time.After(c.Interval):
		case <-ctx.Done():
			return nil
		}
	}
}

// pass is one pass over all candidates.
type pass struct {
	*Checker
	now    domain.Time
	limits func(profile string) domain.Limits
	rules  map[string]setting.Rules
	slots  map[slot.ID]domain.SlotState
	heard  heard
	sum    Summary
}

// Once makes a pass. With an error the summary covers what was done before.
func (c *Checker) Once(ctx context.Context) (Summary, error) {
	p := &pass{Checker: c, rules: map[string]setting.Rules{}, slots: map[slot.ID]domain.SlotState{}, sum: Summary{map[domain.FileState]int{}, map[domain.Code]int{}, 0}}
	for after := domain.FileHash(""); ; {
		found, err := c.Tables.Waiting(ctx, after, page)
		if err != nil || len(found) == 0 {
			return p.sum, err
		}
		if p.now.IsZero() {
			if p.now, err = c.Files.Now(ctx); err == nil {
				p.limits, err = c.Limits(ctx)
			}
			if err != nil {
				return p.sum, err
			}
			p.Asker.forget(p.now.Time)
		}
		if err := p.decide(ctx, found); err != nil || len(found) < page {
			return p.sum, err
		}
		after = found[len(found)-1].Hash
	}
}

// candidate is a file that is looked at, by its rules and what is around it.
type candidate struct {
	query.WaitingFile
	rules setting.Rules
	facts eligible.Facts
	err   error
}

// decide looks at candidates and writes the commands about those that do not wait.
func (p *pass) decide(ctx context.Context, found []query.WaitingFile) error {
	all := make([]candidate, len(found))
	for i, f := range found {
		all[i] = p.candidate(ctx, f)
	}
	p.askAll(ctx, all)
	var asks []files.Request
	for _, c := range all {
		var cmd domain.FileCommand
		err := c.err
		if err == nil && ctx.Err() == nil {
			cmd, err = p.command(ctx, c)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			p.sum.Errors++
			p.Log.Warn("the file cannot be decided; the next pass looks again", "file", c.Hash, "error", err)
		case cmd != nil:
			asks = append(asks, files.Request{Hash: c.Hash, Command: cmd})
		}
	}
	asks, err := p.unchanged(ctx, found, asks)
	if err != nil || len(asks) == 0 {
		return err
	}
	results, err := p.Files.All(ctx, asks, eventstore.Meta{Actor: domain.DaemonActor(Name), TraceParent: eventstore.NewTrace().Parent()})
	for _, r := range results {
		var refused *domain.Refused
		switch {
		case r.Err == nil && len(r.Events) > 0:
			p.sum.Moved[r.File.State]++
		case r.Err != nil && !errors.As(r.Err, &refused): // refused: an operator or another process was first
			p.sum.Errors++
		}
	}
	return err
}

// unchanged leaves out commands about files that have another event than the one that was
// looked at: their content may be another one.
func (p *pass) unchanged(ctx context.Context, found []query.WaitingFile, asks []files.Request) ([]files.Request, error) {
	hashes := make([]domain.FileHash, len(asks))
	for i, a := range asks {
		hashes[i] = a.Hash
	}
	is, err := p.Files.FromLog(ctx, hashes)
	if err != nil {
		return nil, err
	}
	seen := map[domain.FileHash]int64{}
	for _, f := range found {
		seen[f.Hash] = f.Version
	}
	return slices.DeleteFunc(asks, func(a files.Request) bool { return is[a.Hash].Version != seen[a.Hash] }), nil
}

// candidate returns what is to be known of a file before it is decided about, but for the answer of
// a predicate.
func (p *pass) candidate(ctx context.Context, f query.WaitingFile) (c candidate) {
	c.WaitingFile = f
	if c.rules, c.err = p.rulesOf(ctx, f.Dataset); c.err != nil {
		return c
	}
	if c.facts, c.err = p.Tables.Around(ctx, c.rules, f); c.err != nil {
		return c
	}
	c.facts.Now = p.now
	c.facts.Slot, c.err = p.slotOf(ctx, f, c.rules.Slots)
	return c
}

// command returns what is to be written about a file, nil = it waits.
func (p *pass) command(ctx context.Context, c candidate) (domain.FileCommand, error) {
	v, f := eligible.Decide(c.rules, c.facts), c.WaitingFile
	switch {
	case v.Skip != nil:
		return domain.SkipFile{Reason: *v.Skip}, nil
	case !v.Ready():
		p.sum.Waits[v.Waits[0].Code]++
		return nil, nil
	}
	var damaged *validate.Fault
	switch err := p.validate(ctx, f); {
	case errors.As(err, &damaged):
		return p.damaged(ctx, f, *damaged)
	case err != nil:
		return nil, err
	}
	return domain.ReadyFile{Slot: c.facts.Slot}, nil
}

// validate reads the local copy of a file. The error is a *[validate.Fault] if it is not what
// was downloaded.
func (p *pass) validate(ctx context.Context, f query.WaitingFile) error {
	content, err := p.Contents.Open(f.Hash, f.SHA256)
	if missing, ok := errors.AsType[*store.Error](err); ok && missing.Code == store.CodeNotFound {
		return &validate.Fault{Code: validate.CodeMissing, Message: "its local copy is gone"}
	}
	if err != nil {
		return err
	}
	defer content.Close()
	return validate.Check(ctx, content, validate.Want{Name: f.Path, Size: f.Size, SHA256: f.SHA256})
}

// damaged puts the content away and returns the command that sends the file back. A file
// that has another event by now keeps its content: it may be another one.
func (p *pass) damaged(ctx context.Context, f query.WaitingFile, fault validate.Fault) (domain.FileCommand, error) {
	is, err := p.Files.FromLog(ctx, []domain.FileHash{f.Hash})
	if err != nil || is[f.Hash].Version != f.Version {
		return nil, err
	}
	where, err := p.Contents.Quarantine(f.Hash, f.SHA256, f.Version)
	if err != nil {
		return nil, fmt.Errorf("put the damaged content away: %w", err)
	}
	return domain.FailValidation{Reason: domain.Reason{Class: domain.ClassContent, Code: fault.Code, Message: fault.Message}, Quarantine: where,
		Limits: p.limits(is[f.Hash].Spec.Profile)}, nil
}

func (p *pass) rulesOf(ctx context.Context, dataset string) (setting.Rules, error) {
	if r, known := p.rules[dataset]; known || dataset == "" {
		return r, nil
	}
	r, err := p.Rules(ctx, dataset)
	if err == nil {
		p.rules[dataset] = r
	}
	return r, err
}

// slotOf returns the state of a file's slot, as the log has it. If there is none it is made
// by the rule, unless this is nil or the name of the group gives none.
func (p *pass) slotOf(ctx context.Context, f query.WaitingFile, rule *setting.SlotRule) (domain.SlotState, error) {
	if f.Dataset == "" || f.Group == "" {
		return domain.SlotNone, nil
	}
	id := slot.NewID(f.Dataset, f.Group)
	if s, known := p.slots[id]; known {
		return s, nil
	}
	states, err := p.Files.Slots().States(ctx, []slot.ID{id})
	if err != nil {
		return "", err
	}
	is := states[id].State
	if is == domain.SlotNone && rule != nil {
		if is, err = p.makeSlot(ctx, id, f, *rule); err != nil {
			return "", err
		}
	}
	p.slots[id] = is
	return is, nil
}

// makeSlot makes the slot of a group from its name, and returns its state; SlotNone = the name
// gives none.
func (p *pass) makeSlot(ctx context.Context, id slot.ID, f query.WaitingFile, rule setting.SlotRule) (domain.SlotState, error) {
	add, err := slot.FromName(f.Dataset, f.Group, rule)
	if err != nil {
		return domain.SlotNone, nil //nolint:nilerr // the file says what it waits for
	}
	var made files.SlotResult
	err = crash.Around("ready/slot/make", func() error {
		made, err = p.Files.Slots().Slot(ctx, id, add, eventstore.Meta{Actor: domain.DaemonActor(Name), TraceParent: eventstore.NewTrace().Parent()})
		return err
	})
	if refused, ok := errors.AsType[*domain.Refused](err); ok && refused.Code == slot.CodeExists {
		return domain.SlotState(refused.State), nil // another process, or an operator, was first
	}
	return made.Slot.State, err
}
