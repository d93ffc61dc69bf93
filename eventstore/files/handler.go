package files

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
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

	cache      cache
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
func (h *Handler) Now(ctx context.Context) (domain.Time, error) {
	info, err := h.Log.Info(ctx)
	if err != nil {
		return domain.Time{}, err
	}
	if info.Now.IsZero() {
		return domain.Time{}, &eventstore.Error{Op: "ask the log for its time", Err: eventstore.ErrBroken, Hint: "its server does not report it: upgrade the server"}
	}
	return domain.At(info.Now), nil
}

// Load reads a file's state from the log. ErrNotFound: it was never discovered.
func (h *Handler) Load(ctx context.Context, hash domain.FileHash) (domain.File, error) {
	at, err := h.load(ctx, hash, "")
	if err == nil && at.seq == 0 {
		err = &eventstore.Error{Op: "load", Aggregate: hash.Aggregate(), Err: eventstore.ErrNotFound}
	}
	return at.file, err
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
	return h.files(ctx, hashes, func(domain.FileHash) (knownFile, bool) { return knownFile{}, false })
}

func (h *Handler) files(ctx context.Context, hashes []domain.FileHash, known func(domain.FileHash) (knownFile, bool)) (map[domain.FileHash]domain.File, error) {
	found := make([]knownFile, len(hashes))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for i, hash := range hashes {
		if at, ok := known(hash); ok {
			found[i] = at
			continue
		}
		g.Go(func() (err error) { found[i], err = h.load(gctx, hash, ""); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	files := make(map[domain.FileHash]domain.File, len(hashes))
	for i, hash := range hashes {
		if found[i].seq > 0 {
			files[hash] = found[i].file
		}
	}
	return files, nil
}

// knownFile is a file's state and the sequence of its last event; the zero value is
// a file that was not discovered.
type knownFile struct {
	file      domain.File
	seq       uint64
	ofCommand []domain.Recorded // events of the command that was asked for
}

// load folds a file's events and caches the result.
func (h *Handler) load(ctx context.Context, hash domain.FileHash, commandID string) (knownFile, error) {
	at := knownFile{file: domain.File{Hash: hash}}
	a := hash.Aggregate()
	for r, err := range h.Log.Read(ctx, eventstore.ReadOptions{Aggregate: &a}) {
		if err != nil {
			return knownFile{}, err
		}
		if at.file, err = domain.EvolveFile(at.file, r); err != nil {
			return knownFile{}, &eventstore.Error{Op: "load", Aggregate: a, Err: errors.Join(eventstore.ErrBroken, err), Hint: fmt.Sprintf("see sequence %d of the log", r.Seq)}
		}
		at.seq = r.Seq
		if commandID != "" && r.CommandID == commandID {
			at.ofCommand = append(at.ofCommand, r)
		}
	}
	if at.seq > 0 {
		h.cache.put(hash, knownFile{file: at.file, seq: at.seq})
	}
	return at, nil
}
