package query

import (
	"context"
	"math"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Filter is what lists of batches, jobs and files choose by; empty fields choose all, and
// what is given must all hold.
type Filter struct {
	Profile    string
	Collection string
	Submitter  string
	Code       string // of the reason why it failed or waits
	Host       string // server that the payload comes from; of a batch, that of any of its jobs
	// Since and Until choose by when a batch was submitted, a job created or a file
	// discovered: from Since on, before Until.
	Since, Until time.Time
	// Sees limits the list to what a caller may see, nil = everything.
	Sees *access.Filter
}

// narrowed returns the filter with what a caller may see as its submitter, if that is all
// that they see: PostgreSQL reads an index for one, and may read everything for two
// conditions of which one must hold.
func (f Filter) narrowed() Filter {
	s := f.Sees
	if s != nil && !s.All && len(s.Collections) == 0 && s.Submitter != "" && (f.Submitter == "" || f.Submitter == s.Submitter) {
		f.Submitter, f.Sees = s.Submitter, nil
	}
	return f
}

// given returns a time as a parameter, nil = none.
func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// BatchFilter chooses batches.
type BatchFilter struct {
	Filter
	State  domain.BatchState
	Before domain.BatchID // only older ones: the last of the page before
	Limit  int            // at most, newest first (default 100)
}

// Batches lists batches, newest first.
func Batches(ctx context.Context, db Reader, f BatchFilter) ([]BatchSummary, error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	of := pgdb.BatchSummariesParams{
		State: string(f.State), Before: string(f.Before), MaxRows: atMost(f.Limit),
		Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own}
	if f.Host == "" {
		rows, err := pgdb.New(db).BatchSummaries(ctx, of)
		return rows, wrap("list batches", err)
	}
	rows, err := pgdb.New(db).BatchSummariesOfHost(ctx, pgdb.BatchSummariesOfHostParams{
		Host: f.Host, State: of.State, Before: of.Before, MaxRows: of.MaxRows, Profile: of.Profile, Collection: of.Collection, Submitter: of.Submitter,
		Code: of.Code, Since: of.Since, Until: of.Until, Limited: of.Limited, Collections: of.Collections, Own: of.Own})
	return rows, wrap("list batches of a host", err)
}

// MostCounted is how many things of a list are counted: to count a million takes longer than
// to read a page of them.
const MostCounted = 10_000

// counted returns what is counted up to [MostCounted], nil = there are more.
func counted(count func(most int32) (int64, error)) (*int64, error) {
	n, err := count(MostCounted + 1)
	if err != nil || n > MostCounted {
		return nil, err
	}
	return &n, nil
}

// ListedBatches counts the batches that a filter chooses, nil = more than [MostCounted];
// Before and Limit are ignored.
func ListedBatches(ctx context.Context, db Reader, f BatchFilter) (*int64, error) {
	return counted(func(most int32) (int64, error) { return countBatches(ctx, db, f, most) })
}

// TotalBatches is ListedBatches for as many as there are.
func TotalBatches(ctx context.Context, db Reader, f BatchFilter) (int64, error) {
	return countBatches(ctx, db, f, math.MaxInt32)
}

func countBatches(ctx context.Context, db Reader, f BatchFilter, most int32) (int64, error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	of := pgdb.CountListedBatchesParams{
		State: string(f.State), Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own, Most: most}
	if f.Host == "" {
		n, err := pgdb.New(db).CountListedBatches(ctx, of)
		return n, wrap("count batches", err)
	}
	n, err := pgdb.New(db).CountListedBatchesOfHost(ctx, pgdb.CountListedBatchesOfHostParams{
		Host: f.Host, State: of.State, Profile: of.Profile, Collection: of.Collection, Submitter: of.Submitter, Code: of.Code,
		Since: of.Since, Until: of.Until, Limited: of.Limited, Collections: of.Collections, Own: of.Own, Most: of.Most})
	return n, wrap("count batches of a host", err)
}

// JobFilter chooses jobs.
type JobFilter struct {
	Filter
	Batch domain.BatchID
	State domain.JobState
	After domain.JobID // the last of the page before
	Limit int          // at most (default 100)
}

// Jobs lists jobs in the order of their ids.
func Jobs(ctx context.Context, db Reader, f JobFilter) ([]JobRow, error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	rows, err := pgdb.New(db).Jobs(ctx, pgdb.JobsParams{
		BatchID: string(f.Batch), State: string(f.State), After: string(f.After), MaxRows: atMost(f.Limit),
		Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own})
	return rows, wrap("list jobs", err)
}

// ListedJobs counts the jobs that a filter chooses, nil = more than [MostCounted]; After and
// Limit are ignored.
func ListedJobs(ctx context.Context, db Reader, f JobFilter) (*int64, error) {
	return counted(func(most int32) (int64, error) { return countJobs(ctx, db, f, most) })
}

// TotalJobs is ListedJobs for as many as there are.
func TotalJobs(ctx context.Context, db Reader, f JobFilter) (int64, error) {
	return countJobs(ctx, db, f, math.MaxInt32)
}

func countJobs(ctx context.Context, db Reader, f JobFilter, most int32) (int64, error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	n, err := pgdb.New(db).CountListedJobs(ctx, pgdb.CountListedJobsParams{
		BatchID: string(f.Batch), State: string(f.State), Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own, Most: most})
	return n, wrap("count jobs", err)
}

// FileFilter chooses files.
type FileFilter struct {
	Filter
	Batch domain.BatchID
	Job   domain.JobID
	State domain.FileState
	Name  string // in the path
	// Dataset and Group are those of files of open directories.
	Dataset, Group string
	After          domain.FileHash // the last of the page before
	Limit          int             // at most (default 100)
}

// Files lists files in the order of their discovery: those of a job as its manifest has
// them.
func Files(ctx context.Context, db Reader, f FileFilter) ([]FileRow, error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	rows, err := pgdb.New(db).Files(ctx, pgdb.FilesParams{
		BatchID: string(f.Batch), JobID: string(f.Job), State: string(f.State), Name: f.Name, After: string(f.After), MaxRows: atMost(f.Limit),
		Dataset: f.Dataset, GroupName: f.Group, Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own})
	return rows, wrap("list files", err)
}
