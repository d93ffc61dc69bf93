package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// EntryRow is a row of accession.compute_entry.
type EntryRow = pgdb.AccessionComputeEntry

// EntryFilter chooses entries of the compute queue; empty fields choose all.
type EntryFilter struct {
	Status    entry.State
	Dataset   string
	Datasets  []string // about one of these, nil = about any
	Submitter string
	Code      string // of the reason why it failed or waits again
	Host      string // of any of its inputs
	// Since and Until bound when they were requested: not before, and before.
	Since, Until time.Time
	Before       compute.ID // only older ones: the last of the page before
	Limit        int        // at most, newest first (default 100)
}

// Entries lists entries of the compute queue, newest first.
func Entries(ctx context.Context, db Reader, f EntryFilter) ([]EntryRow, error) {
	rows, err := pgdb.New(db).ComputeEntries(ctx, pgdb.ComputeEntriesParams{Status: string(f.Status), Dataset: f.Dataset, OfAll: f.Datasets == nil, Datasets: f.Datasets,
		Submitter: f.Submitter, Code: f.Code, Host: f.Host, Since: given(f.Since), Until: given(f.Until), Before: string(f.Before), MaxRows: atMost(f.Limit)})
	return rows, wrap("list entries", err)
}

// EntryByID returns one entry, or ErrNotFound.
func EntryByID(ctx context.Context, db Reader, id compute.ID) (EntryRow, error) {
	row, err := pgdb.New(db).ComputeEntryByID(ctx, string(id))
	return row, wrap(string(id), err)
}

// WorkerEnded is how many entries a worker has completed and failed.
type WorkerEnded = pgdb.ComputeWorkersRow

// WorkersEnded returns how many entries each worker has ended since a time, at most limit
// workers by name. The name of a worker over HTTP is the one that it gave.
func WorkersEnded(ctx context.Context, db Reader, since time.Time, limit int) ([]WorkerEnded, error) {
	rows, err := pgdb.New(db).ComputeWorkers(ctx, pgdb.ComputeWorkersParams{Since: &since, MaxRows: atMost(limit)})
	return rows, wrap("count what workers have ended", err)
}

// EntryOfKey returns the last entry of a key that has a result, or ErrNotFound.
func EntryOfKey(ctx context.Context, db Reader, key string) (EntryRow, error) {
	row, err := pgdb.New(db).ComputeEntryOfKey(ctx, key)
	return row, wrap("the entry of the key "+key, err)
}

// entriesOfFile is how many attempts at a file are looked for, and how many are shown.
const (
	attemptsOfFile = 100
	entriesOfFile  = 20
)

// FileEntry is the entry that stands for an attempt at a file.
type FileEntry struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Worker string `json:"worker,omitempty"` // that has it, or had it last
	Reason string `json:"reason,omitempty"`
}

// EntriesOfFile lists the entries that stand for attempts at a file, newest first.
func EntriesOfFile(ctx context.Context, db Reader, hash domain.FileHash) ([]EntryRow, error) {
	var keys []string
	for n := range attemptsOfFile {
		keys = append(keys, compute.Attempt{Hash: hash, Number: n + 1}.Key())
	}
	rows, err := pgdb.New(db).ComputeEntriesOfKeys(ctx, pgdb.ComputeEntriesOfKeysParams{Keys: keys, MaxRows: entriesOfFile})
	return rows, wrap("list the entries of a file", err)
}

// StepEntry is the entry that stands for an own step of a job.
type StepEntry struct {
	Step string `json:"step"`
	FileEntry
	Requested domain.Time `json:"requested_at"`
}

// stepsOfJob is how many entries of a job are shown.
const stepsOfJob = 20

// StepsOfJob lists the entries that stand for own steps of a job, newest first.
func StepsOfJob(ctx context.Context, db Reader, job domain.JobID) ([]EntryRow, error) {
	rows, err := pgdb.New(db).ComputeEntriesOfJob(ctx, pgdb.ComputeEntriesOfJobParams{JobID: string(job), MaxRows: stepsOfJob})
	return rows, wrap("list the steps of a job", err)
}

// StrandedEntries lists, in the order of their ids, the entries that have not ended and
// stand for an own step of a job that does not seem to wait for it.
func StrandedEntries(ctx context.Context, db Reader, after compute.ID, limit int) ([]EntryRow, error) {
	rows, err := pgdb.New(db).StrandedComputeEntries(ctx, pgdb.StrandedComputeEntriesParams{After: string(after), MaxRows: atMost(limit)})
	return rows, wrap("list stranded entries", err)
}

// EntryOf returns the entry of a row, with what the row has of its reason.
func EntryOf(row EntryRow) compute.Entry { return fold.EntryOf(row) }
