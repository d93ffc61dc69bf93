package query

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Orders are those that a list can be in.
type Orders struct {
	// Any is the order in which the rows were made: any number of them can be in it.
	Any string
	// Few are the orders of at most [MostCounted] rows.
	Few []string
}

// Has reports whether there is an order of that name.
func (o Orders) Has(name string) bool { return name == o.Any || slices.Contains(o.Few, name) }

// The orders of lists, by what is sorted by.
var (
	BatchOrders = Orders{"id", []string{"status", "title", "submitter", "profile_name", "rows_listed", "jobs_completed", "jobs_failed", "files_listed", "bytes_listed", "submitted_at", "reason"}}
	JobOrders   = Orders{"id", []string{"batch_id", "status", "status_since", "title", "primary_identifier", "collection", "submitter", "files", "bytes", "retry_count", "reason"}}
	FileOrders  = Orders{"discovered_at", []string{"path", "status", "status_since", "job_id", "batch_id", "dataset", "size", "download_attempts", "processing_attempts", "reason", "id"}}
)

// Sorting is the order of a list, and where in it a page begins.
type Sorting struct {
	By   string // one of the orders
	Down bool   // from its end; rows without a value are last in both directions
	// Last is the last row of the page before, "" = this is the first; LastKey is what that row was
	// sorted by.
	Last, LastKey string
}

// Sorted is a row of a sorted list with what it is sorted by.
type Sorted[Row any] struct {
	Row Row
	Key string
}

// SortedBatches lists batches in an order; Before is ignored. Those with equal values are newest
// first.
func SortedBatches(ctx context.Context, db Reader, f BatchFilter, s Sorting) ([]Sorted[BatchSummary], error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	rows, err := pgdb.New(db).SortedBatches(ctx, pgdb.SortedBatchesParams{
		By: s.By, Down: s.Down, Last: s.Last, LastKey: s.LastKey, State: string(f.State), MaxRows: atMost(f.Limit),
		Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own})
	all := make([]Sorted[BatchSummary], len(rows))
	for i, r := range rows {
		all[i] = Sorted[BatchSummary]{r.ReportBatchSummary, r.Key}
	}
	return all, wrap("list sorted batches", err)
}

// SortedJobs lists jobs in an order; After is ignored. Those with equal values are in the order of
// their ids.
func SortedJobs(ctx context.Context, db Reader, f JobFilter, s Sorting) ([]Sorted[JobRow], error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	rows, err := pgdb.New(db).SortedJobs(ctx, pgdb.SortedJobsParams{
		By: s.By, Down: s.Down, Last: s.Last, LastKey: s.LastKey, BatchID: string(f.Batch), State: string(f.State), MaxRows: atMost(f.Limit),
		Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own})
	all := make([]Sorted[JobRow], len(rows))
	for i, r := range rows {
		all[i] = Sorted[JobRow]{r.AccessionJob, r.Key}
	}
	return all, wrap("list sorted jobs", err)
}

// SortedFiles lists files in an order; After is ignored. Those with equal values are in the order of
// their discovery.
func SortedFiles(ctx context.Context, db Reader, f FileFilter, s Sorting) ([]Sorted[FileRow], error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	rows, err := pgdb.New(db).SortedFiles(ctx, pgdb.SortedFilesParams{
		By: s.By, Down: s.Down, Last: s.Last, LastKey: s.LastKey, BatchID: string(f.Batch), JobID: string(f.Job), State: string(f.State), Name: f.Name, MaxRows: atMost(f.Limit),
		Dataset: f.Dataset, GroupName: f.Group, Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own})
	all := make([]Sorted[FileRow], len(rows))
	for i, r := range rows {
		all[i] = Sorted[FileRow]{r.AccessionFile, r.Key}
	}
	return all, wrap("list sorted files", err)
}

// ListedFiles counts the files that a filter chooses, nil = more than [MostCounted]; After and
// Limit are ignored.
func ListedFiles(ctx context.Context, db Reader, f FileFilter) (*int64, error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	return counted(func(most int32) (int64, error) {
		n, err := pgdb.New(db).CountListedFiles(ctx, pgdb.CountListedFilesParams{
			BatchID: string(f.Batch), JobID: string(f.Job), State: string(f.State), Name: f.Name, Dataset: f.Dataset, GroupName: f.Group,
			Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
			Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own, Most: most})
		return n, wrap("count files", err)
	})
}
