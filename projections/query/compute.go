package query

import (
	"context"

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
	Status  entry.State
	Dataset string
	Before  compute.ID // only older ones: the last of the page before
	Limit   int        // at most, newest first (default 100)
}

// Entries lists entries of the compute queue, newest first.
func Entries(ctx context.Context, db Reader, f EntryFilter) ([]EntryRow, error) {
	rows, err := pgdb.New(db).ComputeEntries(ctx, pgdb.ComputeEntriesParams{Status: string(f.Status), Dataset: f.Dataset, Before: string(f.Before), MaxRows: atMost(f.Limit)})
	return rows, wrap("list entries", err)
}

// EntryByID returns one entry, or ErrNotFound.
func EntryByID(ctx context.Context, db Reader, id compute.ID) (EntryRow, error) {
	row, err := pgdb.New(db).ComputeEntryByID(ctx, string(id))
	return row, wrap(string(id), err)
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

// EntryOf returns the entry of a row, with what the row has of its reason.
func EntryOf(row EntryRow) compute.Entry { return fold.EntryOf(row) }
