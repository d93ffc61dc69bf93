// Package entries has the use cases about the compute queue.
package entries

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/showing"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Work is an entry of the compute queue as it stands.
type Work struct {
	ID        compute.ID     `json:"id"`
	Status    entry.State    `json:"status"`
	Version   int64          `json:"version"`
	Dataset   string         `json:"dataset"`
	Group     string         `json:"group,omitempty"`
	Priority  entry.Priority `json:"priority"` // the higher runs first
	Key       string         `json:"key"`
	Submitter string         `json:"submitter"`
	Inputs    []string       `json:"inputs"`
	Attempt   int            `json:"attempt"`
	Worker    string         `json:"worker,omitempty"` // that has it, or had it last
	// Progress is what the worker that has it said last of how far it is; absent in lists.
	Progress  string        `json:"progress,omitempty"`
	Reason    string        `json:"reason,omitempty"` // why it waits again or has failed
	WhoActs   domain.Acting `json:"who_acts,omitempty"`
	Requested domain.Time   `json:"requested_at,omitzero"`
	Claimed   domain.Time   `json:"claimed_at,omitzero"`
	Ended     domain.Time   `json:"ended_at,omitzero"`
	Result    *Result       `json:"result,omitempty"`
	// DryRun says that nothing was requested: it would be so, and have an id then unless it is there.
	DryRun  bool     `json:"dry_run,omitempty"`
	Effects []string `json:"effects,omitempty"` // what a request would do, as sentences
}

// Result is the result of an entry.
type Result struct {
	ExitStatus int    `json:"exit_status"`
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"`
	// Value is what the command wrote; absent in lists, and where it is not kept any more.
	Value     any    `json:"value,omitempty"`
	LastLines string `json:"last_lines,omitempty"` // that the command wrote on its standard error
	// Outputs are the files that the worker left beside it, by name; absent in lists.
	Outputs []entry.Output `json:"outputs,omitempty"`
}

// Over reports whether the entry has ended.
func (e Work) Over() bool { return e.Status.Ended() }

// Asked is what is requested.
type Asked struct {
	Dataset, Group string
	Priority       *int // nil = the default
	Key            string
	Inputs         []string
}

// Submit requests an entry. What was requested under the same key before is returned as it
// stands, a result that is known first; other work under its key is refused.
func Submit(ctx context.Context, a *app.App, asked Asked) (e Work, err error) {
	defer app.Explained(&err, "request work")
	cmd, err := asked.request(a)
	if err != nil {
		return e, err
	}
	tables, err := a.Open.DB(ctx)
	if err != nil {
		return e, err
	}
	switch row, err := query.EntryOfKey(ctx, tables, cmd.Work.Key); {
	case err == nil:
		return known(ctx, a, ofRow(row), cmd)
	case !errors.Is(err, query.ErrNotFound):
		return e, err
	}
	live, err := a.Open.Live(ctx)
	if err == nil {
		err = live.Room(ctx)
	}
	if err != nil {
		return e, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return e, err
	}
	res, err := handler.RequestEntry(ctx, cmd, a.Meta())
	if err == nil && res.State.ID == "" { // it was only tried
		e = of(res.State)
		e.DryRun, e.Effects = true, []string{fmt.Sprintf("work is requested, and waits in the compute queue with the priority %d", e.Priority)}
		return e, nil
	}
	if errors.Is(err, eventstore.ErrUnknown) {
		err = fmt.Errorf("the work may have been requested; request it again, which makes no second entry: %w", err)
	}
	if err != nil {
		return e, err
	}
	return known(ctx, a, of(res.State), cmd)
}

// known returns an entry that has the key of a request, with its result.
func known(ctx context.Context, a *app.App, e Work, cmd compute.Request) (Work, error) {
	if e.Dataset != cmd.Work.Dataset || e.Group != cmd.Work.Group || !slices.Equal(e.Inputs, cmd.Request.Inputs) {
		return Work{}, &app.Error{Kind: app.KeyReused, Err: fmt.Errorf("the key %q is that of %s, which has another dataset, group or inputs", e.Key, e.ID),
			Hint: "`accession compute show " + string(e.ID) + "` shows them; request other work under another key, or under none"}
	}
	if e.DryRun = a.DryRun; e.DryRun {
		e.Effects = []string{fmt.Sprintf("nothing is requested: it is there as %s, under the key %q", e.ID, e.Key)}
	}
	return withResult(ctx, a, e)
}

// request returns the command of what is requested.
func (asked Asked) request(a *app.App) (cmd compute.Request, err error) {
	cmd.Work = entry.Work{Dataset: asked.Dataset, Group: asked.Group, Priority: entry.DefaultPriority, Key: asked.Key}
	if asked.Priority != nil {
		cmd.Work.Priority = entry.Priority(*asked.Priority)
	}
	cmd.Request = entry.Request{Submitter: cmp.Or(a.Actor.User(), string(a.Actor)), Inputs: asked.Inputs}
	for _, in := range asked.Inputs {
		if text.Check(in) != nil || fetch.Host(in) == "" || fetch.Redact(in) != in {
			return cmd, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("%s cannot be an input", fetch.Redact(in)),
				Hint: "give an address of the form https://host/path, without user name, password and query: it is kept and shown"}
		}
	}
	if compute.OfState(asked.Dataset) {
		return cmd, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the dataset %q is one of those of the states of jobs", asked.Dataset), Hint: "choose a dataset that does not begin with job-state/"}
	}
	if compute.Reserved(asked.Key) {
		return cmd, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the key %q is one of those of files and jobs", asked.Key), Hint: "choose a key that begins neither with file/ nor with job/"}
	}
	cmd.Work.Key = cmp.Or(cmd.Work.Key, compute.DefaultKey(cmd.Work, asked.Inputs))
	if err := errors.Join(cmd.Work.Check(), cmd.Request.Check()); err != nil {
		return cmd, &app.Error{Kind: app.Invalid, Err: err, Hint: "`accession compute submit --help` says what may be requested"}
	}
	return cmd, nil
}

func of(e compute.Entry) Work {
	shown := Work{ID: e.ID, Status: e.State, Version: e.Version, Dataset: e.Work.Dataset, Group: e.Work.Group, Priority: e.Work.Priority, Key: e.Work.Key,
		Submitter: e.Request.Submitter, Inputs: e.Request.Inputs, Attempt: e.Attempt, Worker: e.Worker, Requested: e.Requested}
	switch e.State {
	case entry.Staging:
		shown.Claimed = e.Modified
	case entry.Successful, entry.Failed:
		shown.Ended = e.Modified
	}
	if e.Reason != nil {
		shown.Reason, shown.WhoActs = string(e.Reason.Code)+": "+e.Reason.Message, e.Reason.WhoActs
	}
	if r := e.Result; r != nil {
		shown.Result = &Result{ExitStatus: r.ExitStatus, SHA256: r.SHA256, Size: r.Size}
	}
	return shown
}

func ofRow(r query.EntryRow) Work {
	e := of(query.EntryOf(r))
	e.Claimed, e.Ended = at(r.ClaimedAt), at(r.EndedAt)
	if r.Worker != nil {
		e.Worker = *r.Worker
	}
	return e
}

func at(t *time.Time) domain.Time {
	if t == nil {
		return domain.Time{}
	}
	return domain.At(*t)
}

// withResult adds what the records have of the result of an entry.
func withResult(ctx context.Context, a *app.App, e Work) (Work, error) {
	if e.Result == nil {
		return e, nil
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return e, err
	}
	kept, found, err := records.ComputeResult(ctx, e.ID, e.Result.SHA256, e.claim())
	if err == nil && found {
		e.Result.LastLines, e.Result.Outputs = kept.LastLines, kept.Outputs
		err = json.Unmarshal(kept.Result, &e.Result.Value)
	}
	return e, err
}

// Show returns an entry with its result: from the tables, or from the live state if that is
// further.
func Show(ctx context.Context, a *app.App, id compute.ID) (e Work, err error) {
	defer app.Explained(&err, "show "+string(id))
	e, err = showing.Latest(ctx, a, func(e Work) int64 { return e.Version },
		func(h *eventstore.Handler) (Work, error) {
			now, err := h.Entries.LoadEntry(ctx, id)
			return of(now.State), err
		},
		func(db query.Reader) (e Work, err error) {
			row, err := query.EntryByID(ctx, db, id)
			if err == nil {
				e = ofRow(row)
			}
			return e, err
		})
	if errors.Is(err, query.ErrNotFound) {
		err = absent(id)
	}
	if err == nil && e.Status == entry.Staging {
		e.Progress, err = progress(ctx, a, id)
	}
	if err != nil {
		return e, err
	}
	return withResult(ctx, a, e)
}

// progress returns what a worker with a lease said last, "" = nothing, or the lease has ended.
func progress(ctx context.Context, a *app.App, id compute.ID) (string, error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return "", err
	}
	l, err := handler.Leases.LoadLease(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return "", nil
	}
	return l.Progress, err
}

func absent(id compute.ID) error {
	return &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no entry %s", id), Hint: "`accession compute ls` lists them"}
}

// Filter chooses entries.
type Filter = query.EntryFilter

var list = showing.List[compute.ID, query.EntryRow, Work]{Kind: "entry", Parse: compute.ParseID, Item: ofRow, ID: func(e Work) compute.ID { return e.ID }}

// Ls lists entries, newest first, from a cursor on.
func Ls(ctx context.Context, a *app.App, f Filter, from app.Cursor) (p app.Page[Work], err error) {
	defer app.Explained(&err, "list entries")
	return list.Page(ctx, a, from, f.Limit, func(db query.Reader, before compute.ID, limit int) ([]query.EntryRow, error) {
		f.Before, f.Limit = before, limit
		return query.Entries(ctx, db, f)
	})
}

// Retry lets a failed entry wait again.
func Retry(ctx context.Context, a *app.App, id compute.ID, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "retry "+string(id))
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	cmd := compute.Retry{}
	if why = strings.TrimSpace(why); why != "" {
		cmd.Reason = &domain.Reason{Class: domain.ClassWait, Code: domain.CodeRetried, Message: why}
	}
	m := a.Meta()
	m.DryRun = a.DryRun
	res, err := handler.Entry(ctx, id, cmd, m)
	if errors.Is(err, eventstore.ErrNotFound) {
		return c, absent(id)
	}
	if err != nil {
		return c, err
	}
	return app.Changed{Target: target.Of(id.Aggregate()), Version: res.State.Version, From: string(res.Before.State), State: string(res.State.State), Row: res.Row, DryRun: a.DryRun}, nil
}

// OfFile returns the entries that stand for attempts at a file, newest first.
func OfFile(ctx context.Context, a *app.App, hash domain.FileHash) (all []query.FileEntry, err error) {
	defer app.Explained(&err, "list the entries of "+string(hash))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := query.EntriesOfFile(ctx, db, hash)
	for _, row := range rows {
		e := ofRow(row)
		all = append(all, query.FileEntry{ID: string(e.ID), Status: string(e.Status), Worker: e.Worker, Reason: e.Reason})
	}
	return all, err
}

// StepsOf returns the entries that stand for own steps of a job, newest first.
func StepsOf(ctx context.Context, a *app.App, job domain.JobID) (all []query.StepEntry, err error) {
	defer app.Explained(&err, "list the steps of "+string(job))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := query.StepsOfJob(ctx, db, job)
	for _, row := range rows {
		if step, is := compute.StepOf(row.Key); is {
			e := ofRow(row)
			all = append(all, query.StepEntry{Step: step.Title(), Requested: e.Requested, FileEntry: query.FileEntry{ID: string(e.ID), Status: string(e.Status), Worker: e.Worker, Reason: e.Reason}})
		}
	}
	return all, err
}
