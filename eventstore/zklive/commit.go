package zklive

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/entries"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/queues"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/rings"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/statuses"
)

// committer writes changes. All changes of one Commit are in one multi, which the changes of
// other calls may share (group commit).
type committer struct {
	reader     *reader
	send       sender
	outbox     *outbox
	claims     *claims
	holds      *holds
	queues     *queues.Settings
	statuses   *statuses.Cache
	jobs       *jobQueues
	batches    *batchIndex
	rings      *rings.Rings
	entries    *entries.Entries
	queueLimit int
	heapLimit  int64
	inLog      func(ctx context.Context, a domain.Aggregate, version int64) (commandID string, err error)
}

// Commit implements eventstore.Live: all changes in one multi.
func (w *committer) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	for _, c := range changes {
		if c.Claim == nil {
			continue
		}
		if valid, _ := w.claims.holding(c.Claim); !valid {
			return nil, &eventstore.Error{Op: "commit", Aggregate: c.Aggregate(), Err: eventstore.ErrFenced}
		}
	}
	// A claim that the write makes must be known before: if the answer is lost, the batch or
	// entry may be locked all the same. An earlier one of this process whose answer was lost
	// stays until it is known what became of it: then the batch or entry is tried again.
	made := changes[0].NewClaim()
	if made != nil && !w.claims.add(made) {
		return nil, &eventstore.Error{Op: "grab", Aggregate: made.Aggregate, Err: eventstore.ErrConflict, Hint: "an earlier grab of it by this process has not ended"}
	}
	done, err := w.commit(ctx, changes)
	if made != nil && err != nil {
		w.claims.failed(made, err)
	}
	switch {
	case err == nil:
		w.committed(changes, done)
		return done, nil
	case errors.Is(err, layout.ErrHolds):
		w.holds.outdated()
	case errors.Is(err, eventstore.ErrUnknown):
		for _, c := range changes {
			w.claims.setUnknown(c.Claim)
		}
	}
	return nil, err
}

// commitCall is one call of Commit: its changes, and what its tries have found out.
type commitCall struct {
	*committer
	changes    []eventstore.Change
	handOver   *layout.HandOver // the claim of the next state, nil = the change is not handed over
	newerNodes map[string]bool  // see layout.Inputs.NewerNodes
	unknown    bool             // an earlier try may have been applied
	// ringChanges counts the tries that were refused because the ring of a deposit queue, or
	// a number of running deposits, had changed.
	ringChanges int
}

// maxRingChanges is how often a change is sent again after its deposit queue has changed;
// then it is a conflict.
const maxRingChanges = 20

// commit sends the changes until the outcome is known or ctx ends.
func (w *committer) commit(ctx context.Context, changes []eventstore.Change) ([]eventstore.Committed, error) {
	call := commitCall{committer: w, changes: changes, handOver: w.nextClaim(ctx, changes)}
	done, err := session.Retry(ctx, func() ([]eventstore.Committed, error) { return call.try(ctx) })
	var reported *eventstore.Error // it names the aggregate already
	if err == nil || errors.As(err, &reported) {
		return done, err
	}
	if call.unknown {
		err = eventstore.ErrUnknown
	}
	return nil, call.wrap(err)
}

// wrap returns err as an error of Commit, with the aggregate of the first change.
func (call *commitCall) wrap(err error) error {
	return &eventstore.Error{Op: "commit", Aggregate: call.changes[0].Aggregate(), Err: err}
}

// try sends the changes, and again for as long as adapt finds another form for what the server
// has refused. Its error is [session.Final] unless the same changes may be sent again.
func (call *commitCall) try(ctx context.Context) ([]eventstore.Committed, error) {
	for {
		done, refusal, err := call.sendOnce(ctx)
		if refusal == nil {
			return done, err
		}
		if !call.adapt(ctx, refusal) {
			return nil, session.Final(call.wrap(refusal))
		}
	}
}

// sendOnce sends the changes once. If the outcome of this or an earlier try is unknown, it
// finds out whether it was applied. refusal is why the server refused the changes, nil = it
// did not.
func (call *commitCall) sendOnce(ctx context.Context) (done []eventstore.Committed, refusal, err error) {
	var res session.Result
	req, err := call.request(ctx)
	if err == nil {
		res = call.send.Send(ctx, req)
		switch {
		case res.Err == nil:
			return call.results(res.Zxid), nil, nil
		case session.NeverSent(res.Err):
			return nil, nil, res.Err
		}
		call.unknown = call.unknown || !session.Answered(res.Err)
	}
	if call.unknown {
		if done, err := call.settle(ctx); done != nil || err != nil {
			return done, nil, session.Final(err)
		}
	}
	switch {
	case err != nil:
		return nil, nil, session.Final(err)
	case !session.Answered(res.Err):
		return nil, nil, res.Err
	}
	return nil, res.Refusal, nil
}

// adapt reports whether the refused changes may be sent in another form, for which it prepares
// the next request: one without the hand-over, if that is what was refused; or one with the
// newer nodes, or the deposit queue (at most maxRingChanges times), as they are now.
func (call *commitCall) adapt(ctx context.Context, refusal error) bool {
	switch c := call.changes[0]; {
	case errors.Is(refusal, layout.ErrHandOver):
		call.dropHandOver()
		return true
	case errors.Is(refusal, layout.ErrNewerNodes):
		return call.readNewerNodes(ctx) == nil
	case errors.Is(refusal, layout.ErrRing) && c.Leave == nil && c.Pool == nil:
		call.ringChanges++ // inputs reads the queue for each request
		return call.ringChanges <= maxRingChanges
	}
	return false
}

// results returns the results of the changes. zxid is that of their transaction, 0 = not
// known.
func (call *commitCall) results(zxid int64) []eventstore.Committed {
	done := make([]eventstore.Committed, len(call.changes))
	for i := range call.changes {
		done[i] = eventstore.Committed{Token: call.reader.root.TokenAfter(&call.changes[i]), Zxid: zxid}
	}
	if h := call.handOver; h != nil {
		done[0].Claim = h.Claim
	}
	if made := call.changes[0].NewClaim(); made != nil {
		done[0].Claim = made
	}
	return done
}

// request puts the changes, with all that they require and their events, into one
// request.
func (call *commitCall) request(ctx context.Context) (*session.Request, error) {
	in, err := call.inputs(ctx)
	if err != nil {
		return nil, err
	}
	req := &session.Request{Ops: call.reader.root.Changes(call.changes, in), Alone: !layout.MayShare(call.changes)}
	for _, c := range call.changes {
		if err := req.AddEvents(layout.ShardOf(c, call.outbox.shards), c.Events, c.JSON); err != nil {
			return nil, err
		}
	}
	if n, bytes, fits := req.Size(); !fits {
		return nil, &eventstore.Error{Op: "commit", Err: eventstore.ErrBroken,
			Hint: fmt.Sprintf("%d operations of %d bytes do not fit one write: commit fewer changes at once", n, bytes)}
	}
	return req, nil
}

// inputs reads what the operations depend on besides the changes.
func (call *commitCall) inputs(ctx context.Context) (in layout.Inputs, err error) {
	in = layout.Inputs{HandOver: call.handOver, NewerNodes: call.newerNodes, Compact: call.reader.compact}
	if in.NextRows, err = call.nextRows(ctx); err != nil {
		return in, err
	}
	if in.CompactJobs, err = call.compactJobs(ctx); err != nil {
		return in, err
	}
	in.Ring, err = call.committer.rings.Inputs(ctx, call.changes[0])
	return in, err
}

// nextRows returns the progress of the batch whose next jobs the changes create, nil if they
// create none. The error is ErrConflict if the rows are not the next of the manifest, and
// ErrFull if there are too many jobs for a queue or for the server's heap.
func (call *commitCall) nextRows(ctx context.Context) (*layout.NextRows, error) {
	var rows *layout.NextRows
	first := 0
	for _, c := range call.changes {
		if c.NextRow == nil {
			continue
		}
		if rows == nil {
			rows, first = &layout.NextRows{Batch: c.Job.To.Configuration.BatchID}, *c.NextRow
		}
		rows.Count++
	}
	if rows == nil {
		return nil, nil
	}
	refuse := func(err error, hint string, args ...any) (*layout.NextRows, error) {
		return nil, &eventstore.Error{Op: "make jobs of", Aggregate: rows.Batch.Aggregate(), Err: err, Hint: fmt.Sprintf(hint, args...)}
	}
	stat, err := call.reader.conn.GetJSON(ctx, call.reader.root.Progress(rows.Batch), &rows.Now)
	if err != nil {
		return nil, notFound("make jobs of", rows.Batch.Aggregate(), err)
	}
	if rows.Now.NextRow != first || first+rows.Count > rows.Now.Rows {
		return refuse(eventstore.ErrConflict, "row %d is next of %d, not %d", rows.Now.NextRow, rows.Now.Rows, first)
	}
	load, err := call.reader.load(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range domain.JobStates {
		if n := load.Queues[state]; state.Sub() == domain.SubProcessing && n+rows.Count > call.queueLimit {
			return refuse(eventstore.ErrFull, "%d jobs are %s; the limit is %d", n, state, call.queueLimit)
		}
	}
	if err := call.roomForRows(load, rows); err != nil {
		return nil, err
	}
	rows.Version = stat.Version
	return rows, nil
}

// compactJobs returns the finished jobs of the changes that are stored in the compact form (see
// layout.Inputs.CompactJobs). No write changes the form without also writing the status, which
// carries the compare-and-set.
func (call *commitCall) compactJobs(ctx context.Context) (jobs map[domain.JobID]bool, err error) {
	for i := range call.changes {
		c := &call.changes[i]
		if c.Job == nil || !c.Job.From.Cleaned || c.Observed != nil {
			continue
		}
		id := c.Job.From.ID
		_, compact, err := call.reader.jobStatus(ctx, id)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			return nil, err
		}
		if compact {
			if jobs == nil {
				jobs = map[domain.JobID]bool{}
			}
			jobs[id] = true
		}
	}
	return jobs, nil
}

// readNewerNodes reads which promises of working space and object entries of the jobs exist.
// Programs that are older than these nodes move jobs without changing them.
func (call *commitCall) readNewerNodes(ctx context.Context) error {
	exists := map[string]bool{}
	for _, c := range call.changes {
		if c.Job == nil {
			continue
		}
		for _, path := range call.reader.root.NewerPaths(*c.Job) {
			stat, err := call.reader.conn.Exists(ctx, path)
			if err != nil {
				return err
			}
			exists[path] = stat != nil
		}
	}
	call.newerNodes = exists
	return nil
}

// committed updates the claims, caches and indexes of this process after a write.
func (w *committer) committed(changes []eventstore.Change, done []eventstore.Committed) {
	for i, c := range changes {
		own := c.Claim != nil && c.Claim.Aggregate == c.Aggregate()
		next := done[i].Claim
		if c.Claim != nil && (next != nil || own && !c.KeepClaim) {
			w.claims.replace(c.Claim, next)
		}
		switch {
		case c.Job != nil:
			handedOver := next != nil
			w.jobs.committed(*c.Job, done[i], handedOver, handedOver || own && c.KeepClaim)
		case c.Batch != nil:
			to := c.Batch.To
			w.batches.submitters.Note(to.ID, to.Submission.Submitter, to.Listing)
			w.batches.moved(to.ID, eventstore.Phase(to.State, to.Ticket), to.Version, c.Claim != nil && c.KeepClaim || next != nil)
			w.rings.Committed(c)
			w.statuses.Put(to.ID, statuses.Status{State: to.State, Version: to.Version, Token: done[i].Token})
		case c.Query != nil:
			w.rings.Committed(c)
		case c.Entry != nil:
			w.entries.Committed(c, done[i].Zxid)
		default:
			w.holds.outdated()
			w.queues.Committed(c.Setting.To)
		}
	}
}
