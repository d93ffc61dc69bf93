package zklive

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// committer writes changes: each Commit is one multi, or a part of one.
type committer struct {
	reader     *reader
	send       sender
	outbox     *outbox
	claims     *claims
	holds      *holds
	statuses   *statusCache
	jobs       *jobQueues
	batches    *batchIndex
	queueLimit int
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
		if held, _ := w.claims.holding(c.Claim); !held {
			return nil, &eventstore.Error{Op: "commit", Aggregate: c.Aggregate(), Err: eventstore.ErrFenced}
		}
	}
	done, err := w.commit(ctx, changes)
	switch {
	case err == nil:
		w.committed(changes, done)
		return done, nil
	case errors.Is(err, layout.ErrHolds):
		w.holds.outdated()
	case errors.Is(err, eventstore.ErrUnknown):
		for _, c := range changes {
			w.claims.doubt(c.Claim)
		}
	}
	return nil, err
}

// attempt is one call of Commit, with what is known of its outcome.
type attempt struct {
	*committer
	changes []eventstore.Change
	facts   layout.Facts
	unknown bool // an earlier try may have been applied
}

// commit tries until the outcome is known or ctx ends.
func (w *committer) commit(ctx context.Context, changes []eventstore.Change) ([]eventstore.Committed, error) {
	t := attempt{committer: w, changes: changes, facts: layout.Facts{HandOver: w.handOver(ctx, changes)}}
	done, err := session.Retry(ctx, func() ([]eventstore.Committed, error) { return t.try(ctx) })
	var said *eventstore.Error
	if err == nil || errors.As(err, &said) {
		return done, err
	}
	if t.unknown {
		err = eventstore.ErrUnknown
	}
	return nil, t.failed(err)
}

func (t *attempt) failed(err error) error {
	return &eventstore.Error{Op: "commit", Aggregate: t.changes[0].Aggregate(), Err: err}
}

// try sends the changes once. Its error is final unless they may be sent again.
func (t *attempt) try(ctx context.Context) ([]eventstore.Committed, error) {
	var res session.Result
	req, err := t.request(ctx)
	if err == nil {
		res = t.send.Send(ctx, req)
		switch {
		case res.Err == nil:
			return t.done(res.Zxid), nil
		case session.NeverSent(res.Err):
			return nil, res.Err
		}
		t.unknown = t.unknown || !session.Answered(res.Err)
	}
	if t.unknown {
		if done, err := t.settle(ctx); done != nil || err != nil {
			return done, session.Final(err)
		}
	}
	switch {
	case err != nil:
		return nil, session.Final(err)
	case !session.Answered(res.Err):
		return nil, res.Err
	case errors.Is(res.Refusal, layout.ErrHandOver):
		t.refusedHandOver()
		return t.try(ctx)
	case errors.Is(res.Refusal, layout.ErrPromise):
		if t.facts.Promised, err = t.promises(ctx); err == nil {
			return t.try(ctx)
		}
	}
	return nil, session.Final(t.failed(res.Refusal))
}

// done returns the results of the changes. zxid is that of their transaction, 0 = not
// known.
func (t *attempt) done(zxid int64) []eventstore.Committed {
	done := make([]eventstore.Committed, len(t.changes))
	for i, c := range t.changes {
		done[i] = eventstore.Committed{Token: t.reader.root.TokenAfter(c), Zxid: zxid}
	}
	if h := t.facts.HandOver; h != nil {
		done[0].Claim = h.Claim
	}
	return done
}

// request puts the changes, with all that they require and their events, into one
// request.
func (t *attempt) request(ctx context.Context) (*session.Request, error) {
	var err error
	if t.facts.Rows, err = t.rows(ctx); err != nil {
		return nil, err
	}
	req := &session.Request{Ops: t.reader.root.Changes(t.changes, t.facts), Alone: !sharing(t.changes)}
	for _, c := range t.changes {
		if err := req.Record(layout.ShardOf(c, t.outbox.shards), c.Events); err != nil {
			return nil, err
		}
	}
	if n, bytes, fits := req.Size(); !fits {
		return nil, &eventstore.Error{Op: "commit", Err: eventstore.ErrBroken,
			Hint: fmt.Sprintf("%d operations of %d bytes do not fit one write: commit fewer changes at once", n, bytes)}
	}
	return req, nil
}

// sharing reports whether changes may share a multi with others. Only the transition of
// a single job may. A change that creates or deletes directories, or proves them empty,
// depends on the order of the other writes to them and is sent alone; so are the rare
// changes of batches and settings, and repairs.
func sharing(changes []eventstore.Change) bool {
	c := changes[0]
	return len(changes) == 1 && c.Observed == nil && c.Job != nil && c.Job.From.State != domain.JobNone && c.Job.To.State != domain.JobDeleted
}

// rows returns how many of a batch's jobs exist, if the changes create the next ones,
// else nil. It refuses rows that are not the next ones, and jobs beyond the limit of a
// queue.
func (t *attempt) rows(ctx context.Context) (*layout.Rows, error) {
	var rows *layout.Rows
	first := 0
	for _, c := range t.changes {
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
	stat, err := t.reader.conn.GetJSON(ctx, t.reader.root.Progress(rows.Batch), &rows.Now)
	if err != nil {
		return nil, notFound("make jobs of", rows.Batch.Aggregate(), err)
	}
	if rows.Now.NextRow != first || first+rows.Count > rows.Now.Rows {
		return refuse(eventstore.ErrConflict, "row %d is next of %d, not %d", rows.Now.NextRow, rows.Now.Rows, first)
	}
	queues, err := t.reader.queued(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range domain.JobStates {
		if queues[state]+rows.Count > t.queueLimit {
			return refuse(eventstore.ErrFull, "%d jobs are %s; the limit is %d", queues[state], state, t.queueLimit)
		}
	}
	rows.Version = stat.Version
	return rows, nil
}

// promises returns for which jobs a promise of working space exists, for the next try.
// Older programs, which do not know these nodes, move jobs without changing them.
func (t *attempt) promises(ctx context.Context) (map[domain.JobID]bool, error) {
	found := map[domain.JobID]bool{}
	for _, c := range t.changes {
		if c.Job == nil {
			continue
		}
		stat, err := t.reader.conn.Exists(ctx, t.reader.root.Promise(c.Job.To.ID))
		if err != nil {
			return nil, err
		}
		found[c.Job.To.ID] = stat != nil
	}
	return found, nil
}

// committed updates the caches and indexes after a write.
func (w *committer) committed(changes []eventstore.Change, done []eventstore.Committed) {
	for i, c := range changes {
		own := c.Claim != nil && c.Claim.Aggregate == c.Aggregate()
		next := done[i].Claim
		if next != nil || own && !c.KeepClaim {
			w.claims.replace(c.Claim, next)
		}
		switch {
		case c.Job != nil:
			w.jobs.committed(*c.Job, done[i], next != nil, next != nil || own && c.KeepClaim)
		case c.Batch != nil:
			to := c.Batch.To
			w.batches.moved(to.ID, to.State, to.Version, c.Claim != nil && c.KeepClaim)
			w.statuses.know(to.ID, knownStatus{to.State, to.Version, done[i].Token})
		default:
			w.holds.outdated()
		}
	}
}
