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
	changes []eventstore.Change
	inputs  layout.Inputs
	unknown bool // an earlier try may have been applied
	// ringChanges counts the tries that were refused because the ring of a deposit queue, or
	// a number of running deposits, had changed.
	ringChanges int
}

// maxRingChanges is how often a change is sent again after its deposit queue has changed;
// then it is a conflict.
const maxRingChanges = 20

// commit sends the changes until the outcome is known or ctx ends.
func (w *committer) commit(ctx context.Context, changes []eventstore.Change) ([]eventstore.Committed, error) {
	call := commitCall{committer: w, changes: changes, inputs: layout.Inputs{HandOver: w.handOver(ctx, changes), Compact: w.reader.compact}}
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

// try sends the changes once. It sends them again in another form if the server refuses them
// for one of three reasons: the hand-over cannot be made (then without it), a promise of
// working space or an object entry is not as expected (then with these nodes as they are),
// or the deposit queue that a batch joins or ends in has changed (then with it as it is).
// Its error is [session.Final] unless the same changes may be sent again.
func (call *commitCall) try(ctx context.Context) ([]eventstore.Committed, error) {
	var res session.Result
	req, err := call.request(ctx)
	if err == nil {
		res = call.send.Send(ctx, req)
		switch {
		case res.Err == nil:
			return call.results(res.Zxid), nil
		case session.NeverSent(res.Err):
			return nil, res.Err
		}
		call.unknown = call.unknown || !session.Answered(res.Err)
	}
	if call.unknown {
		if done, err := call.settle(ctx); done != nil || err != nil {
			return done, session.Final(err)
		}
	}
	switch {
	case err != nil:
		return nil, session.Final(err)
	case !session.Answered(res.Err):
		return nil, res.Err
	case errors.Is(res.Refusal, layout.ErrHandOver):
		call.refusedHandOver()
		return call.try(ctx)
	case errors.Is(res.Refusal, layout.ErrRing) && call.changes[0].Leave == nil && call.changes[0].Pool == nil && call.ringChanges < maxRingChanges:
		call.ringChanges++
		return call.try(ctx)
	case errors.Is(res.Refusal, layout.ErrNewerNodes):
		if call.inputs.Found, err = call.found(ctx); err == nil {
			return call.try(ctx)
		}
	}
	return nil, session.Final(call.wrap(res.Refusal))
}

// results returns the results of the changes. zxid is that of their transaction, 0 = not
// known.
func (call *commitCall) results(zxid int64) []eventstore.Committed {
	done := make([]eventstore.Committed, len(call.changes))
	for i := range call.changes {
		done[i] = eventstore.Committed{Token: call.reader.root.TokenAfter(&call.changes[i]), Zxid: zxid}
	}
	if h := call.inputs.HandOver; h != nil {
		done[0].Claim = h.Claim
	}
	if made := call.changes[0].NewClaim(); made != nil {
		done[0].Claim = made
	}
	return done
}

// whole returns, of the jobs that have left their queue, those whose status node has all of
// their data (see layout.Inputs.Whole). No write changes that without also writing the
// status, which carries the compare-and-set.
func (call *commitCall) whole(ctx context.Context) (whole map[domain.JobID]bool, err error) {
	for i := range call.changes {
		c := &call.changes[i]
		if c.Job == nil || !c.Job.From.Cleaned || c.Observed != nil {
			continue
		}
		id := c.Job.From.ID
		_, is, err := call.reader.jobStatus(ctx, id)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			return nil, err
		}
		if is {
			if whole == nil {
				whole = map[domain.JobID]bool{}
			}
			whole[id] = true
		}
	}
	return whole, nil
}

// request puts the changes, with all that they require and their events, into one
// request.
func (call *commitCall) request(ctx context.Context) (*session.Request, error) {
	var err error
	if call.inputs.Rows, err = call.rows(ctx); err != nil {
		return nil, err
	}
	if call.inputs.Whole, err = call.whole(ctx); err != nil {
		return nil, err
	}
	if call.inputs.Ring, err = call.committer.rings.Inputs(ctx, call.changes[0]); err != nil {
		return nil, err
	}
	req := &session.Request{Ops: call.reader.root.Changes(call.changes, call.inputs), Alone: !sharing(call.changes)}
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

// sharing reports whether changes may share a multi. Only the transition of a single job or
// entry may: what creates or deletes directories, or proves them empty, depends on the order of
// the other writes to them. The rare changes of batches and settings are sent alone too.
func sharing(changes []eventstore.Change) bool {
	c := changes[0]
	return len(changes) == 1 && c.Observed == nil && (c.Entry != nil || c.Job != nil && c.Job.From.State != domain.JobNone && c.Job.To.State != domain.JobDeleted)
}

// rows returns the progress of the batch whose next jobs the changes create, nil if they
// create none. The error is ErrConflict if the rows are not the next of the manifest, and
// ErrFull if there are too many jobs for a queue or for the server's heap.
func (call *commitCall) rows(ctx context.Context) (*layout.Rows, error) {
	var rows *layout.Rows
	first := 0
	for _, c := range call.changes {
		if c.NextRow == nil {
			continue
		}
		if rows == nil {
			rows, first = &layout.Rows{Batch: c.Job.To.Configuration.BatchID}, *c.NextRow
		}
		rows.Count++
	}
	if rows == nil {
		return nil, nil
	}
	refuse := func(err error, hint string, args ...any) (*layout.Rows, error) {
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

// found reports which promises of working space and object entries of the jobs exist, for the
// next try. Programs that are older than these nodes move jobs without changing them.
func (call *commitCall) found(ctx context.Context) (map[string]bool, error) {
	found := map[string]bool{}
	for _, c := range call.changes {
		if c.Job == nil {
			continue
		}
		for _, path := range call.reader.root.NewerPaths(*c.Job) {
			stat, err := call.reader.conn.Exists(ctx, path)
			if err != nil {
				return nil, err
			}
			found[path] = stat != nil
		}
	}
	return found, nil
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
			w.batches.submitters.note(to.ID, to.Submission.Submitter, to.Listing)
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
