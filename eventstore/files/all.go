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
	concurrentReads = 16 // questions to the log at once
	maxTries        = 20 // of one file, before its conflicts count as an error
)

// fileWork is one ask on its way.
type fileWork struct {
	Request
	result *Result
	at     knownFile
	known  bool // at is worth deciding upon
	loaded bool // at comes from the log
	unsure bool // a write of it may have happened
	tries  int
	rows   []string
	events []domain.Recorded
	after  domain.File
}

// filesCall is one call of All.
type filesCall struct {
	*Handler
	order eventstore.Meta
	// retry: the caller gave the command id, so that an earlier call may have
	// written.
	retry bool
}

// All decides and appends commands about different files, up to [MaxEvents]
// events in one write. Each file stands for itself: its refusal or conflict keeps
// no other one out. The results are in the order of the asks. An error of the call
// itself (the log is away until ctx ends) is also that of every file which it left
// undecided.
//
// Under one command id a file takes one command: asking again with the same id is
// answered with what was written the first time.
func (h *Handler) All(ctx context.Context, asks []Request, o eventstore.Meta) ([]Result, error) {
	c := filesCall{Handler: h, order: o, retry: o.CommandID != ""}
	if !c.retry {
		c.order.CommandID = h.NewID()
	}
	c.order.CommandID = codec.CleanText(c.order.CommandID)
	results := make([]Result, len(asks))
	work := make([]*fileWork, 0, len(asks))
	seen := make(map[domain.FileHash]bool, len(asks))
	for i, ask := range asks {
		_, discovery := ask.Command.(domain.DiscoverFile)
		switch {
		case !seen[ask.Hash]:
			seen[ask.Hash] = true
			// Most discovered files are new: append before reading.
			work = append(work, &fileWork{Request: ask, result: &results[i],
				at: knownFile{file: domain.File{Hash: ask.Hash}}, known: discovery})
		case discovery:
			c.duplicate(&results[i])
		default:
			results[i].Err = fmt.Errorf("%s is named twice in one call: ask one after the other: %w", ask.Hash.Aggregate(), eventstore.ErrBroken)
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

// round decides and appends each of work once, and returns those to do again; with
// an error, those that are undone.
func (c *filesCall) round(ctx context.Context, work []*fileWork) (again []*fileWork, err error) {
	if err := c.know(ctx, work); err != nil {
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
		chunk := ready[:fit(ready)]
		ready = ready[len(chunk):]
		redo, err := c.append(ctx, chunk)
		again = append(again, redo...)
		if err != nil {
			return append(again, ready...), err
		}
	}
	return again, nil
}

// fit returns how many of work go into one write.
func fit(work []*fileWork) int {
	events := 0
	for i, w := range work {
		if events += len(w.events); events > MaxEvents {
			return i
		}
	}
	return len(work)
}

// know sees to it that every state may be decided upon.
func (c *filesCall) know(ctx context.Context, work []*fileWork) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for _, w := range work {
		if w.known {
			continue
		}
		if w.tries == 0 && !w.unsure && !c.retry {
			if at, ok := c.cache.get(w.Hash); ok {
				w.at, w.known = at, true
				continue
			}
		}
		g.Go(func() (err error) {
			w.at, err = c.load(gctx, w.Hash, c.order.CommandID)
			w.known, w.loaded = true, true
			return err
		})
	}
	return g.Wait()
}

// decide makes the events of one ask. done: it has its result. Neither done nor
// events: the state must be read first.
func (c *filesCall) decide(w *fileWork) (done bool, err error) {
	w.events = nil
	if len(w.at.mine) > 0 {
		*w.result = Result{File: w.at.file, Seq: w.at.seq, Events: w.at.mine}
		return true, nil
	}
	dec, err := domain.DecideFile(w.at.file, w.Command)
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
	if w.events, err = c.order.Stamp(domain.At(c.Clock()), dec.Events, batch); err != nil {
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

// append writes a chunk, and returns those of it to do again; with an error, those
// that are undone.
func (c *filesCall) append(ctx context.Context, chunk []*fileWork) (again []*fileWork, err error) {
	var events []eventstore.Append
	for _, w := range chunk {
		for _, e := range w.events {
			events = append(events, eventstore.Append{Event: e, ExpectSeq: w.at.seq})
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

// refused finds out which files of a refused or doubtful write have moved: they
// are to be loaded, the others go again as they are.
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
	var stay []*fileWork
	for i, w := range chunk {
		w.unsure = w.unsure || errors.Is(why, eventstore.ErrUnknown)
		_, discovery := w.Command.(domain.DiscoverFile)
		switch {
		case lasts[i].Seq == w.at.seq:
			stay = append(stay, w)
		case discovery && !w.unsure && !c.retry && lasts[i].CommandID != c.order.CommandID:
			c.duplicate(w.result)
		default:
			again = c.reload(again, w, why)
		}
	}
	if len(stay) < len(chunk) {
		return append(again, stay...), nil
	}
	// None has moved: the read was too early, or the write never arrived.
	if len(chunk) > 1 {
		return c.split(ctx, chunk)
	}
	return c.reload(again, chunk[0], why), nil
}

// reload has a file decided again on what the log says, but not for ever.
func (c *filesCall) reload(again []*fileWork, w *fileWork, why error) []*fileWork {
	if w.tries++; w.tries > maxTries {
		w.result.Err = fmt.Errorf("decide %s: refused %d times by other writers: %w", w.Hash.Aggregate(), w.tries, why)
		return again
	}
	w.known = false
	return append(again, w)
}

// split writes a chunk in two halves, so that what is wrong with it is narrowed
// down.
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
