package files

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
)

// Handler is the only way to change files: load → decide → append
// to the file's own subject, expecting the event that was decided upon. The log is
// all the state that files have: a conflict makes the handler load and decide
// again. It is safe for concurrent use; its zero cache is ready.
//
// Claim, KeepClaim and Known of a [eventstore.Meta] are not used: a file's attempt is
// fenced by domain.File.Fence.
type Handler struct {
	Log   eventstore.Log
	Clock func() time.Time // for the informative time of events
	NewID func() string    // a fresh command id (UUID)
	Epoch int64            // of the live tree, see Overview; 0 = the first

	cache      cache[domain.File]
	slots      cache[slot.Slot]
	duplicates atomic.Int64
}

// Request is a command about one file.
type Request struct {
	Hash    domain.FileHash
	Command domain.FileCommand
}

// Result is the outcome of one [Request].
type Result struct {
	// File is the state after the command. Times that the log gives to events which
	// this handler wrote and has not read yet are zero; [Handler.Load] has them.
	File   domain.File
	Seq    uint64   // sequence of its last event
	Rows   []string // table rows, one for each event; nil when an earlier try had written them
	Events []domain.Recorded
	// Duplicate: a discovery of a file that is known. Nothing was written, and File
	// is not loaded.
	Duplicate bool
	// Err is *domain.Refused, or why this file could not be written while others
	// could.
	Err error
}

// File decides and appends one command. If the rules refuse it the error is a
// *domain.Refused; a duplicate discovery is not an error. For others see
// [eventstore.Log.Append].
func (h *Handler) File(ctx context.Context, hash domain.FileHash, cmd domain.FileCommand, o eventstore.Meta) (Result, error) {
	results, err := h.All(ctx, []Request{{hash, cmd}}, o)
	if err != nil {
		return Result{}, err
	}
	return results[0], results[0].Err
}

// DiscoverAll makes files known (F1), a thousand in one write, and returns how many
// were not known before. Those that the rules refuse do not affect the others; the
// error then says how many were refused, and why the first.
func (h *Handler) DiscoverAll(ctx context.Context, files []domain.DiscoverFile, o eventstore.Meta) (fresh int, err error) {
	requests := make([]Request, len(files))
	for i, f := range files {
		requests[i] = Request{f.Spec.Hash(), f}
	}
	results, err := h.All(ctx, requests, o)
	var refused error
	bad := 0
	for _, r := range results {
		switch {
		case r.Err != nil:
			if bad++; refused == nil {
				refused = r.Err
			}
		case !r.Duplicate && r.Seq > 0:
			fresh++
		}
	}
	if err == nil && refused != nil {
		err = fmt.Errorf("%d of %d files were not discovered, the first because: %w", bad, len(files), refused)
	}
	return fresh, err
}

// Duplicates counts the discoveries of files that were known, by this handler.
func (h *Handler) Duplicates() int64 { return h.duplicates.Load() }

// Now returns the log's time, by which timeouts and delays are decided.
func (h *Handler) Now(ctx context.Context) (domain.Time, error) { return logTime(ctx, h.Log) }

// Load reads a file's state from the log. ErrNotFound: it was never discovered.
func (h *Handler) Load(ctx context.Context, hash domain.FileHash) (domain.File, error) {
	at, err := h.writer().load(ctx, hash.Aggregate(), "")
	if err == nil && at.seq == 0 {
		err = &eventstore.Error{Op: "load", Aggregate: hash.Aggregate(), Err: eventstore.ErrNotFound}
	}
	return at.state, err
}

// Files returns the states of those of the files that exist, from the cache of this
// handler or else from the log. A cached state may be outdated, which a command
// detects, and lacks times as in [Result].
func (h *Handler) Files(ctx context.Context, hashes []domain.FileHash) (map[domain.FileHash]domain.File, error) {
	return h.files(ctx, hashes, h.cache.get)
}

// FromLog is like Files, but reads the log only: for a caller that would fail because of
// a state that another process may have changed.
func (h *Handler) FromLog(ctx context.Context, hashes []domain.FileHash) (map[domain.FileHash]domain.File, error) {
	return h.files(ctx, hashes, func(domain.Aggregate) (known[domain.File], bool) { return known[domain.File]{}, false })
}

func (h *Handler) files(ctx context.Context, hashes []domain.FileHash, get func(domain.Aggregate) (known[domain.File], bool)) (map[domain.FileHash]domain.File, error) {
	all := make([]domain.Aggregate, len(hashes))
	for i, hash := range hashes {
		all[i] = hash.Aggregate()
	}
	found, err := h.writer().states(ctx, all, get)
	if err != nil {
		return nil, err
	}
	files := make(map[domain.FileHash]domain.File, len(hashes))
	for i, hash := range hashes {
		if found[i].seq > 0 {
			files[hash] = found[i].state
		}
	}
	return files, nil
}

// All decides and appends commands about different files, up to [MaxEvents] events in
// one write. Each file is independent: its refusal or conflict does not affect the
// others. The results are in the order of the requests. An error of the call itself
// (the log cannot be reached until ctx ends) is also the error of every file that has
// no result yet.
//
// A command id applies once to each file: a call with the same id again returns what
// the first one wrote.
func (h *Handler) All(ctx context.Context, requests []Request, o eventstore.Meta) ([]Result, error) {
	all := make([]request[domain.FileCommand], len(requests))
	for i, r := range requests {
		all[i] = request[domain.FileCommand]{r.Hash.Aggregate(), r.Command}
	}
	outcomes, err := h.writer().all(ctx, all, o)
	results := make([]Result, len(requests))
	for i, o := range outcomes {
		results[i] = Result{File: o.state, Seq: o.seq, Rows: o.rows, Events: o.events, Duplicate: o.duplicate, Err: o.err}
	}
	return results, err
}

func (h *Handler) writer() writer[domain.File, domain.FileCommand] {
	return writer[domain.File, domain.FileCommand]{ofFiles, h.Log, h.Clock, h.NewID, h.Epoch, &h.cache, &h.duplicates}
}

var ofFiles = kind[domain.File, domain.FileCommand]{
	zero: func(a domain.Aggregate) domain.File { return domain.File{Hash: domain.FileHash(a.ID)} },
	decide: func(f domain.File, cmd domain.FileCommand) ([]string, []domain.Event, error) {
		dec, err := domain.DecideFile(f, cmd)
		return dec.Rows, dec.Events, err
	},
	evolve:  domain.EvolveFile,
	version: func(f domain.File) int64 { return f.Version },
	first:   func(cmd domain.FileCommand) bool { _, discovery := cmd.(domain.DiscoverFile); return discovery },
	batch: func(f domain.File, cmd domain.FileCommand) domain.BatchID {
		if d, ok := cmd.(domain.DiscoverFile); ok {
			return d.Spec.BatchID
		}
		return f.Spec.BatchID
	},
	done: func(f domain.File) bool { return f.State == domain.FileProcessed },
}
