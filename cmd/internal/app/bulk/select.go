package bulk

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections/query"
)

// Filter is what things are selected by: as in lists, and what is given must all hold.
type Filter struct {
	Batch      string    `json:"batch,omitempty" maxLength:"40" doc:"Only of this batch; of jobs and files"`
	Job        string    `json:"job,omitempty" maxLength:"40" doc:"Only of this job; of files"`
	State      string    `json:"state,omitempty" maxLength:"40" doc:"Only in this state"`
	Name       string    `json:"name,omitempty" maxLength:"400" doc:"Only with this text in their path; of files"`
	Dataset    string    `json:"dataset,omitempty" maxLength:"128" doc:"Only of this dataset; of files, entries, slots and directories"`
	Profile    string    `json:"profile,omitempty" maxLength:"200" doc:"Only of this profile, entries, slots and directories: of its datasets; not of queries"`
	Collection string    `json:"collection,omitempty" maxLength:"200" doc:"Only of this collection, entries, slots and directories: of its datasets; not of queries"`
	Submitter  string    `json:"submitter,omitempty" maxLength:"256" doc:"Only submitted by this user; not of slots and directories"`
	Code       string    `json:"code,omitempty" maxLength:"100" doc:"Only those that failed or wait for a reason with this code, slots: whose last change has one; not of deposits and directories"`
	Host       string    `json:"host,omitempty" maxLength:"300" doc:"Only those whose payload comes from this host, entries: with an input of it, directories: on it; not of queries, deposits and slots"`
	Since      time.Time `json:"since,omitzero" doc:"Only those begun from this time on, slots: whose window begins then; not of directories"`
	OlderThan  time.Time `json:"older_than,omitzero" doc:"Only those begun before this time, slots: whose window does; not of directories"`
}

// check reports what is wrong with the filter for a kind of thing.
func (f Filter) check(kind domain.Kind) error {
	states := statesOf(kind)
	_, batchErr := domain.ParseBatchID(f.Batch)
	_, jobErr := domain.ParseJobID(f.Job)
	switch {
	case f == Filter{}:
		return invalid("give at least one condition, such as a state", "a filter that selects everything is not accepted")
	case f.State != "" && !slices.Contains(states, f.State):
		return invalid("", "state=%q is not one of %v", f.State, states)
	}
	for _, c := range []struct {
		name, value string
		of          []domain.Kind
	}{
		{"batch", f.Batch, []domain.Kind{domain.KindJob, domain.KindFile}},
		{"job", f.Job, []domain.Kind{domain.KindFile}},
		{"name", f.Name, []domain.Kind{domain.KindFile}},
		{"dataset", f.Dataset, []domain.Kind{domain.KindFile, domain.KindEntry, domain.KindSlot, KindDiscover}},
		{"code", f.Code, append([]domain.Kind{domain.KindQuery, domain.KindSlot}, deposited...)},
		{"profile", f.Profile, append([]domain.Kind{KindDrop, domain.KindSlot, KindDiscover}, deposited...)},
		{"collection", f.Collection, append([]domain.Kind{KindDrop, domain.KindSlot, KindDiscover}, deposited...)},
		{"submitter", f.Submitter, append([]domain.Kind{KindDrop, domain.KindQuery}, deposited...)},
		{"host", f.Host, append([]domain.Kind{KindDiscover}, deposited...)},
		{"since", given(f.Since), timed},
		{"older_than", given(f.OlderThan), timed},
	} {
		if c.value != "" && !slices.Contains(c.of, kind) {
			return invalid("it is one of "+plurals(c.of), "%s is no condition of %s", c.name, Plural(kind))
		}
	}
	switch {
	case f.Batch != "" && batchErr != nil:
		return invalid("", "%v", batchErr)
	case f.Job != "" && jobErr != nil:
		return invalid("", "%v", jobErr)
	}
	return nil
}

// deposited are the kinds that are of a profile, or of a dataset that is.
var deposited = []domain.Kind{domain.KindBatch, domain.KindJob, domain.KindFile, domain.KindEntry}

// timed are the kinds that begin at a time.
var timed = slices.DeleteFunc(slices.Clone(Kinds), func(k domain.Kind) bool { return k == KindDiscover })

// given returns a time as text, "" = none is given.
func given(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// plurals returns the words for things of some kinds.
func plurals(kinds []domain.Kind) string {
	all := make([]string, len(kinds))
	for i, kind := range kinds {
		all[i] = Plural(kind)
	}
	return strings.Join(all, ", ")
}

// statesOf returns the states of things of a kind.
func statesOf(kind domain.Kind) []string {
	switch kind {
	case domain.KindBatch:
		return words(domain.BatchStates)
	case domain.KindJob:
		return words(domain.JobStates)
	case domain.KindEntry:
		return words([]entry.State{entry.Pending, entry.Staging, entry.Successful, entry.Failed, entry.Purged})
	case domain.KindQuery:
		return words([]asked.State{asked.Received, asked.Parked, asked.Grabbed, asked.Answered, asked.Failed})
	case KindDrop:
		return []string{drops.Waiting, drops.Refused}
	case domain.KindSlot:
		return words(slot.States)
	case KindDiscover:
		return []string{directories.Polled, directories.Paused}
	default:
		return words(domain.FileStates)
	}
}

func words[S ~string](list []S) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = string(s)
	}
	return all
}

// selection is what a bulk action is about.
type selection struct {
	kind domain.Kind
	Filter
	sees      *access.Filter // nil = everything
	requested time.Time      // what was made from then on is not selected; zero = it may be
	datasets  []string       // of the profile and the collection, and of what may be acted on; nil = any
	profiles  []string       // of the collection, of deposits in the drop folder; nil = any
	app       *app.App
}

// closed reports whether its user may act on nothing of its kind. Entries, queries and deposits
// in the drop folder are of no collection: as for one of them, it takes the right to act in all.
func (s selection) closed() bool {
	everywhere := s.kind == domain.KindEntry || s.kind == domain.KindQuery || s.kind == KindDrop
	return s.sees != nil && (s.sees.Empty() || everywhere && !s.sees.All)
}

// ofDatasets are the kinds that are of a collection by their dataset.
var ofDatasets = []domain.Kind{domain.KindEntry, domain.KindSlot, KindDiscover}

// resolve finds the datasets by which entries, slots and directories are selected: those of the
// profile and the collection, in which the user may act. Of deposits in the drop folder it finds
// the profiles of the collection.
func (s *selection) resolve(ctx context.Context, a *app.App) error {
	if s.app = a; s.kind == KindDrop {
		return s.collected(ctx, a)
	}
	limited := s.sees != nil && !s.sees.All
	if !slices.Contains(ofDatasets, s.kind) || !limited && s.Profile == "" && s.Collection == "" {
		return nil
	}
	all, err := directories.Datasets(ctx, a)
	s.datasets = []string{} // none, and not any
	for _, d := range all {
		if limited && !s.sees.Selects(d.Collection, "") {
			continue
		}
		if (s.Profile == "" || d.Profile == s.Profile) && (s.Collection == "" || d.Collection == s.Collection) {
			s.datasets = append(s.datasets, d.Name)
		}
	}
	return err
}

// until returns the time before which things were begun.
func (s selection) until() time.Time {
	if s.OlderThan.IsZero() || !s.requested.IsZero() && s.OlderThan.After(s.requested) {
		return s.requested
	}
	return s.OlderThan
}

func (s selection) common() query.Filter {
	return query.Filter{Profile: s.Profile, Collection: s.Collection, Submitter: s.Submitter, Code: s.Code, Host: s.Host, Since: s.Since, Until: s.until(), Sees: s.sees}
}

func (s selection) jobs(after string, limit int) query.JobFilter {
	return query.JobFilter{Filter: s.common(), Batch: domain.BatchID(s.Batch), State: domain.JobState(s.State), After: domain.JobID(after), Limit: limit}
}

func (s selection) entries(before string, limit int) query.EntryFilter {
	return query.EntryFilter{Status: entry.State(s.State), Dataset: s.Dataset, Datasets: s.datasets, Submitter: s.Submitter, Code: s.Code, Host: s.Host,
		Since: s.Since, Until: s.until(), Before: compute.ID(before), Limit: limit}
}

func (s selection) queries(before string, limit int) query.QueryFilter {
	return query.QueryFilter{Status: asked.State(s.State), Submitter: s.Submitter, Code: s.Code, Since: s.Since, Until: s.until(), Before: domain.QueryID(before), Limit: limit}
}

// slots returns the filter of slots: of these, since and older_than are about their windows.
func (s selection) slots(after string, limit int) query.SlotFilter {
	return query.SlotFilter{Dataset: s.Dataset, Datasets: s.datasets, Status: domain.SlotState(s.State), Code: s.Code, Since: s.Since, Until: s.OlderThan, After: slot.ID(after), Limit: limit}
}

// after returns things in the order of their list, behind one, with their versions.
func (s selection) after(ctx context.Context, db query.DB, last string, limit int) (items []record.BulkItem, err error) {
	switch s.kind {
	case domain.KindBatch:
		rows, err := query.Batches(ctx, db, query.BatchFilter{Filter: s.common(), State: domain.BatchState(s.State), Before: domain.BatchID(last), Limit: limit})
		for _, b := range rows {
			o, err := query.OwnerOf(ctx, db, domain.BatchID(b.BatchID).Aggregate())
			if err != nil {
				return nil, err
			}
			items = append(items, record.BulkItem{Target: b.BatchID, Version: o.Version})
		}
		return items, err
	case domain.KindJob:
		rows, err := query.Jobs(ctx, db, s.jobs(last, limit))
		for _, j := range rows {
			items = append(items, record.BulkItem{Target: j.ID, Version: j.Version})
		}
		return items, err
	case domain.KindEntry:
		rows, err := query.Entries(ctx, db, s.entries(last, limit))
		for _, e := range rows {
			items = append(items, record.BulkItem{Target: e.ID, Version: e.Version})
		}
		return items, err
	case KindDrop:
		return s.deposits(ctx, last, limit)
	case domain.KindSlot:
		rows, err := query.SlotVersions(ctx, db, s.slots(last, limit), s.requested)
		for _, r := range rows {
			items = append(items, record.BulkItem{Target: r.ID, Version: r.Version})
		}
		return items, err
	case KindDiscover:
		return s.directories(ctx, db, last, limit)
	case domain.KindQuery:
		rows, err := query.Queries(ctx, db, s.queries(last, limit))
		for _, q := range rows {
			items = append(items, record.BulkItem{Target: q.ID, Version: q.Version})
		}
		return items, err
	default:
		rows, err := query.Files(ctx, db, query.FileFilter{Filter: s.common(), Batch: domain.BatchID(s.Batch), Job: domain.JobID(s.Job), State: domain.FileState(s.State),
			Name: s.Name, Dataset: s.Dataset, After: domain.FileHash(last), Limit: limit})
		for _, f := range rows {
			items = append(items, record.BulkItem{Target: f.RawFileHash, Version: f.Version})
		}
		return items, err
	}
}

// counted is how many things are counted at most, but for batches and jobs.
const counted = 10_000

// count returns how many things are selected, nil = more than are counted.
func (s selection) count(ctx context.Context, db query.DB) (*int64, error) {
	var n int64
	var err error
	switch s.kind {
	case domain.KindBatch:
		n, err = query.TotalBatches(ctx, db, query.BatchFilter{Filter: s.common(), State: domain.BatchState(s.State)})
	case domain.KindJob:
		n, err = query.TotalJobs(ctx, db, s.jobs("", 0))
	default:
		items, listErr := s.after(ctx, db, "", counted+1)
		if len(items) > counted {
			return nil, listErr
		}
		n, err = int64(len(items)), listErr
	}
	return &n, err
}

// sample is how many things a dry run tries.
const sample = 10

// Tried is what a command would do to one thing.
type Tried struct {
	ID      string       `json:"id" doc:"Batch id, job id, hash of the file, entry id, query id, id of the deposit, slot id or name of the directory"`
	Change  *app.Changed `json:"change,omitempty" doc:"What would change"`
	Code    string       `json:"code,omitempty" doc:"Kind of the error for which it would be refused"`
	Refusal string       `json:"refusal,omitempty" doc:"Why it would be refused"`
}
