package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Options say how to check.
type Options struct {
	// Wait is how long to wait until the log has the events of the live state, and the
	// tables those of the log. OutboxLimit is how long an event may stay in the outbox.
	Wait, OutboxLimit time.Duration
	// Objects limits which stored objects are compared.
	Objects Range
	// Deep reads every byte of them, at most Rate bytes per second; 0 = as fast as it
	// goes.
	Deep bool
	Rate int64
	// Progress is called with the progress of the check; nil = no calls.
	Progress func(consistency.Progress)
}

// Result is what [Verify] found.
type Result struct {
	consistency.Report
	Objects   int                  `json:"objects"`      // stored versions that were compared
	Inventory int                  `json:"inventory"`    // versions in the inventory
	Stored    int                  `json:"stored_files"` // that were looked up in the stores
	Read      int64                `json:"bytes_read"`   // of stored files
	LookedAt  []Looked             `json:"looked_at"`
	NotLooked []Looked             `json:"not_looked_at"`
	Worst     consistency.Severity `json:"worst"` // "" = nothing was found, or is left
	// Last is the last object that was compared, with all those before it; a check of
	// stored objects that was interrupted can continue from it.
	Last string `json:"last_object,omitempty"`
}

// Looked says what a check compared, and how; or what it did not, and why.
type Looked struct {
	What string `json:"what"`
	How  string `json:"how"`
}

// Verify compares the three servers, and then what is stored. With an error the result
// has what was found before it.
func Verify(ctx context.Context, cfg Config) (v Result, err error) {
	history := NewHistory()
	waiting, err := unsent(ctx, cfg.Servers.Live)
	if err != nil {
		return v, err
	}
	cfg.Servers.Observe = history.Observe
	if v.Report, err = consistency.Verify(ctx, cfg.Servers); err != nil {
		return v, err
	}
	history.late(waiting)
	stored, err := Check(ctx, cfg, history)
	v.Findings = append(v.Findings, stored.Findings...)
	v.Objects, v.Inventory, v.Stored, v.Read, v.Last = stored.Versions, stored.Rows, stored.Files, stored.Read, stored.Last
	consistency.SortFindings(v.Findings)
	v.Worst = v.Report.Worst()
	v.describe(cfg, history)
	return v, err
}

// Left verifies again after a repair, and returns the worst of what is left. Stored files
// are not read again, for no repair changes them.
func Left(ctx context.Context, cfg Config, before []consistency.Finding) (consistency.Severity, error) {
	cfg.Deep = false
	left, err := Verify(ctx, cfg)
	if slices.ContainsFunc(before, func(f consistency.Finding) bool {
		return f.In == consistency.InStore && f.Severity == consistency.Person
	}) {
		return consistency.Person, err
	}
	return left.Worst, err
}

// describe says what was looked at, and what was not.
func (v *Result) describe(cfg Config, history *History) {
	looked := func(what, format string, args ...any) {
		v.LookedAt = append(v.LookedAt, Looked{what, fmt.Sprintf(format, args...)})
	}
	left := func(what, why string) { v.NotLooked = append(v.NotLooked, Looked{what, why}) }
	looked("log", "%d events, folded", v.Events)
	looked("zookeeper", "%d batches, %d jobs, %d queries, %d entries of the compute queue and %d settings, node by node, and the deposit queues", v.Batches, v.Jobs, v.Queries, v.Entries, v.Settings)
	for _, queue := range v.BusyQueues {
		left("the ring of the deposit queue "+queue, "it was written all the time; suspend the queue, or check again: only the numbers of running deposits were compared")
	}
	looked("schemas", "each table, view and function of the migrations, with its columns")
	looked("ids", "the next ids, with the highest in log, records and store")
	looked("tables", "all rows, %d of files and %d of slots, and the history", v.Files, v.Slots)
	looked("working directories", "each has its job")
	looked("inventory", "%d stored versions: rows, reservations, identifiers and local ids", v.Objects)
	how := "existence and size"
	if cfg.Deep {
		how = fmt.Sprintf("SHA-256 of %d bytes", v.Read)
	}
	looked("store", "%d storage manifests by SHA-256, %d files by %s", v.Objects, v.Stored, how)
	if !cfg.Deep {
		left("content of stored files", "--deep reads it")
	}
	if !cfg.Range.all() {
		left("other stored objects", "only those from "+cmp.Or(cfg.Range.From, "the first")+" to "+cmp.Or(cfg.Range.To, "the last")+" were selected")
	}
	if cfg.Range.all() {
		looked("idempotency keys", "%d, of all deposits and queries in the log and the outbox", len(history.keys)+len(history.queries))
	} else {
		left("idempotency keys", "only a check of all objects compares them")
	}
	if cfg.Range.all() {
		looked("results of the compute queue", "each in its row (record.compute_result), with what the log and the row itself say of it")
		looked("listings of open directories", "each file that became known there in its row (record.directory_listing)")
	} else {
		left("results of the compute queue and listings of open directories", "only a check of all objects compares them")
	}
	left("results of the compute queue that an older program has kept: what they say", "it kept no SHA-256 of the row, and the one in the log is of bytes that are not kept")
	left("size, time and URL of files in listings of open directories", "only the directories know them; the next whole poll reads them")
	left("outputs of the compute queue in the working directory", "those that read them compare their digests")
	left("the last poll of each directory, and what groups of its files wait for (record.discovery, record.group_deposit, record.group_file)", "the log has no part of them")
	left("uploads, lists of queries and copies of manifests in the store", "those that read them compare their digests")
	left("reports, answers of queries and lists of warnings in the store", "those that read them compare their digests, which events have")
	left("people, their keys and sessions, and bulk actions (record)", "the log has no part of them")
	left("deposits and uploads that are known by name (record.upload, record.form_deposit)", "they only help to find what is there")
	left("complete payload URLs with secrets (record.payload_url)", "events have no secrets")
	left("messages and their deliveries (record.delivery)", "the log has no addresses; one that is forgotten may be sent again, under the same key")
	left("which payloads were deposited before (record.deposit)", "only a warning follows from it")
	left("the collections of identifiers of which nothing is stored yet (record.identifier_collection)", "those of objects are in the inventory")
	left("effects outside: mails, callbacks, names at an identifier service", "only their receivers know")
}

// events returns the history of a job in the log, as it is now.
func events(ctx context.Context, log eventstore.Log, id domain.JobID) (events []domain.Recorded, err error) {
	of := id.Aggregate()
	for r, err := range log.Read(ctx, eventstore.ReadOptions{Aggregate: &of}) {
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", id, err)
		}
		events = append(events, r)
	}
	return events, nil
}
