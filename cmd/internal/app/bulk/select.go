package bulk

import (
	"context"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/query"
)

// Filter is what things are selected by: as in lists, and what is given must all hold.
type Filter struct {
	Batch      string    `json:"batch,omitempty" maxLength:"40" doc:"Only of this batch; of jobs and files"`
	Job        string    `json:"job,omitempty" maxLength:"40" doc:"Only of this job; of files"`
	State      string    `json:"state,omitempty" maxLength:"40" doc:"Only in this state"`
	Name       string    `json:"name,omitempty" maxLength:"400" doc:"Only with this text in their path; of files"`
	Profile    string    `json:"profile,omitempty" maxLength:"200" doc:"Only of this profile"`
	Collection string    `json:"collection,omitempty" maxLength:"200" doc:"Only of this collection"`
	Submitter  string    `json:"submitter,omitempty" maxLength:"256" doc:"Only submitted by this user"`
	Code       string    `json:"code,omitempty" maxLength:"100" doc:"Only those that failed or wait for a reason with this code"`
	Host       string    `json:"host,omitempty" maxLength:"300" doc:"Only those whose payload comes from this host"`
	Since      time.Time `json:"since,omitzero" doc:"Only those begun from this time on"`
	OlderThan  time.Time `json:"older_than,omitzero" doc:"Only those begun before this time"`
}

// check reports what is wrong with the filter for a kind of thing.
func (f Filter) check(kind domain.Kind) error {
	var states []string
	switch kind {
	case domain.KindBatch:
		states = words(domain.BatchStates)
	case domain.KindJob:
		states = words(domain.JobStates)
	default:
		states = words(domain.FileStates)
	}
	_, batchErr := domain.ParseBatchID(f.Batch)
	_, jobErr := domain.ParseJobID(f.Job)
	switch {
	case f == Filter{}:
		return invalid("give at least one condition, such as a state", "a filter that selects everything is not accepted")
	case f.State != "" && !slices.Contains(states, f.State):
		return invalid("", "state=%q is not one of %v", f.State, states)
	case kind == domain.KindBatch && f.Batch != "", kind != domain.KindFile && (f.Job != "" || f.Name != ""):
		return invalid("batch is for jobs and files, job and name are for files", "the filter does not fit a %s", kind)
	case f.Batch != "" && batchErr != nil:
		return invalid("", "%v", batchErr)
	case f.Job != "" && jobErr != nil:
		return invalid("", "%v", jobErr)
	}
	return nil
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
	sees *access.Filter // nil = everything
}

func (s selection) common() query.Filter {
	return query.Filter{Profile: s.Profile, Collection: s.Collection, Submitter: s.Submitter, Code: s.Code, Host: s.Host, Since: s.Since, Until: s.OlderThan, Sees: s.sees}
}

func (s selection) jobs(after string, limit int) query.JobFilter {
	return query.JobFilter{Filter: s.common(), Batch: domain.BatchID(s.Batch), State: domain.JobState(s.State), After: domain.JobID(after), Limit: limit}
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
	default:
		rows, err := query.Files(ctx, db, query.FileFilter{Filter: s.common(), Batch: domain.BatchID(s.Batch), Job: domain.JobID(s.Job), State: domain.FileState(s.State),
			Name: s.Name, After: domain.FileHash(last), Limit: limit})
		for _, f := range rows {
			items = append(items, record.BulkItem{Target: f.RawFileHash, Version: f.Version})
		}
		return items, err
	}
}

// countedFiles is how many files are counted at most.
const countedFiles = 10_000

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
		items, listErr := s.after(ctx, db, "", countedFiles+1)
		if len(items) > countedFiles {
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
	ID      string       `json:"id" doc:"Batch id, job id or hash of the file"`
	Change  *app.Changed `json:"change,omitempty" doc:"What would change"`
	Code    string       `json:"code,omitempty" doc:"Kind of the error for which it would be refused"`
	Refusal string       `json:"refusal,omitempty" doc:"Why it would be refused"`
}
