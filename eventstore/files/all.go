package files

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

const (
	// MaxEvents is how many events of files go into one write.
	MaxEvents       = 1000
	concurrentReads = 16 // reads of the log at once
	maxTries        = 20 // of one file, before its conflicts count as an error
)

// fileWork is one request of a call, until it has its result.
type fileWork struct {
	Request
	result       *Result
	at           knownFile
	known        bool // at may be decided upon
	loaded       bool // at comes from the log
	mayBeWritten bool // an earlier write of it has an unknown outcome
	tries        int
	rows         []string
	events       []domain.Recorded
	json         [][]byte // their data
	after        domain.File
}

// filesCall is one call of All.
type filesCall struct {
	*Handler
	meta eventstore.Meta
	// retry: the caller gave the command id, so that an earlier call may have
	// written.
	retry bool
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
	c := filesCall{Handler: h, meta: o, retry: o.CommandID != ""}
	if !c.retry {
		c.meta.CommandID = h.NewID()
	}
	c.meta.CommandID = codec.SanitiseText(c.meta.CommandID)
	results := make([]Result, len(requests))
	work := make([]*fileWork, 0, len(requests))
	seen := make(map[domain.FileHash]bool, len(requests))
	for i, r := range requests {
		_, discovery := r.Command.(domain.DiscoverFile)
		switch {
		case !seen[r.Hash]:
			seen[r.Hash] = true
			// Most discovered files are new: append before reading.
			work = append(work, &fileWork{Request: r, result: &results[i],
				at: knownFile{file: domain.File{Hash: r.Hash}}, known: discovery})
		case discovery:
			c.duplicate(&results[i])
		default:
			results[i].Err = fmt.Errorf("%s is named twice in one call: send one request after the other: %w", r.Hash.Aggregate(), eventstore.ErrBroken)
		}
	}
	for len(work) > 0 {
		again, err := c.round(ctx, work)
		if err != nil {
			for _, w := range again {
				w.result.Err = err
			}
			return results, err
		}
		work = again
	}
	return results, nil
}

// round decides and appends each item of work once, and returns those to repeat; with
// an error, those without a result.
func (c *filesCall) round(ctx context.Context, work []*fileWork) (again []*fileWork, err error) {
	if err := c.loadStates(ctx, work); err != nil {
		return work, err
	}
	ready := work[:0:0]
	for _, w := range work {
		switch done, err := c.decide(w); {
		case err != nil:
			w.result.Err = err
		case done:
		case w.events == nil: // refused on an outdated state: read it
			again = append(again, w)
		default:
			ready = append(ready, w)
		}
	}
	for len(ready) > 0 {
		chunk := ready[:batchSize(ready)]
		ready = ready[len(chunk):]
		repeat, err := c.append(ctx, chunk)
		again = append(again, repeat...)
		if err != nil {
			return append(again, ready...), err
		}
	}
	return again, nil
}

// batchSize returns how many items of work fit into one write.
func batchSize(work []*fileWork) int {
	events := 0
	for i, w := range work {
		if events += len(w.events); events > MaxEvents {
			return i
		}
	}
	return len(work)
}

// loadStates loads the states that are not known.
func (c *filesCall) loadStates(ctx context.Context, work []*fileWork) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for _, w := range work {
		if w.known {
			continue
		}
		if w.tries == 0 && !w.mayBeWritten && !c.retry {
			if at, ok := c.cache.get(w.Hash); ok {
				w.at, w.known = at, true
				continue
			}
		}
		g.Go(func() (err error) {
			w.at, err = c.load(gctx, w.Hash, c.meta.CommandID)
			w.known, w.loaded = true, true
			return err
		})
	}
	return g.Wait()
}

// decide makes the events of one request. done reports that it has its result; without
// events and not done, the state must be read first.
func (c *filesCall) decide(w *fileWork) (done bool, err error) {
	w.events = nil
	if len(w.at.ofCommand) > 0 {
		*w.result = Result{File: w.at.file, Seq: w.at.seq, Events: w.at.ofCommand}
		return true, nil
	}
	dec, err := domain.DecideFile(w.at.file, w.Command)
	if outdated := c.meta.Outdated(w.at.file.Version); outdated != nil {
		err = outdated
	}
	if err != nil {
		_, discovery := w.Command.(domain.DiscoverFile)
		switch {
		case discovery && w.at.file.State != domain.FileNone:
			c.duplicate(w.result)
			return true, nil
		case !w.loaded && !discovery:
			w.known = false
			w.tries++
			return false, nil
		}
		w.result.File, w.result.Seq = w.at.file, w.at.seq
		return true, err
	}
	batch := w.at.file.Spec.BatchID
	if d, ok := w.Command.(domain.DiscoverFile); ok {
		batch = d.Spec.BatchID
	}
	if w.events, w.json, err = c.meta.Stamp(domain.At(c.Clock()), dec.Events, batch); err != nil {
		return true, err
	}
	w.rows, w.after = dec.Rows, w.at.file
	for i := range w.events {
		w.events[i].Epoch = max(c.Epoch, 1)
		if w.after, err = domain.EvolveFile(w.after, w.events[i]); err != nil {
			return true, err
		}
	}
	return false, nil
}

// append writes a chunk, and returns the items to repeat; with an error, those without
// a result.
func (c *filesCall) append(ctx context.Context, chunk []*fileWork) (again []*fileWork, err error) {
	var events []eventstore.Append
	for _, w := range chunk {
		for i, e := range w.events {
			events = append(events, eventstore.Append{Event: e, JSON: w.json[i], ExpectSeq: w.at.seq})
		}
	}
	seqs, err := c.Log.Append(ctx, events)
	switch {
	case err == nil:
		for _, w := range chunk {
			c.written(w, seqs[:len(w.events)])
			seqs = seqs[len(w.events):]
		}
		return nil, nil
	case ctx.Err() != nil:
		return chunk, err
	case errors.Is(err, eventstore.ErrConflict), errors.Is(err, eventstore.ErrUnknown):
		return c.refused(ctx, chunk, err)
	case errors.Is(err, eventstore.ErrBroken) && len(chunk) > 1: // too much at once, or one of them is bad
		return c.split(ctx, chunk)
	case errors.Is(err, eventstore.ErrBroken):
		chunk[0].result.Err = err
		return nil, nil
	default:
		return chunk, err
	}
}

func (c *filesCall) written(w *fileWork, seqs []uint64) {
	for i := range w.events {
		w.events[i].Seq = seqs[i]
	}
	last := seqs[len(seqs)-1]
	*w.result = Result{File: w.after, Seq: last, Rows: w.rows, Events: w.events}
	c.cache.put(w.Hash, knownFile{file: w.after, seq: last})
}

// refused finds out which files of a write that was refused or has an unknown outcome
// have changed: these are loaded again, the others are only repeated.
func (c *filesCall) refused(ctx context.Context, chunk []*fileWork, why error) (again []*fileWork, err error) {
	lasts := make([]eventstore.LastEvent, len(chunk))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for i, w := range chunk {
		g.Go(func() (err error) { lasts[i], err = c.Log.Last(gctx, w.Hash.Aggregate()); return err })
	}
	if err := g.Wait(); err != nil {
		return chunk, err
	}
	var unchanged []*fileWork
	for i, w := range chunk {
		w.mayBeWritten = w.mayBeWritten || errors.Is(why, eventstore.ErrUnknown)
		_, discovery := w.Command.(domain.DiscoverFile)
		switch {
		case lasts[i].Seq == w.at.seq:
			unchanged = append(unchanged, w)
		case discovery && !w.mayBeWritten && !c.retry && lasts[i].CommandID != c.meta.CommandID:
			c.duplicate(w.result)
		default:
			again = c.reload(again, w, why)
		}
	}
	if len(unchanged) < len(chunk) {
		return append(again, unchanged...), nil
	}
	// None has changed: the read was too early, or the write was not stored.
	if len(chunk) > 1 {
		return c.split(ctx, chunk)
	}
	return c.reload(again, chunk[0], why), nil
}

// reload makes a file to be loaded from the log and decided again, up to maxTries
// times.
func (c *filesCall) reload(again []*fileWork, w *fileWork, why error) []*fileWork {
	if w.tries++; w.tries > maxTries {
		w.result.Err = fmt.Errorf("decide %s: refused %d times by other writers: %w", w.Hash.Aggregate(), w.tries, why)
		return again
	}
	w.known = false
	return append(again, w)
}

// split writes a chunk in two halves, to isolate the item that fails.
func (c *filesCall) split(ctx context.Context, chunk []*fileWork) (again []*fileWork, err error) {
	half := len(chunk) / 2
	again, err = c.append(ctx, chunk[:half])
	rest := chunk[half:]
	if err == nil {
		rest, err = c.append(ctx, rest)
	}
	return slices.Concat(again, rest), err
}

func (c *filesCall) duplicate(r *Result) {
	r.Duplicate = true
	c.duplicates.Add(1)
}
