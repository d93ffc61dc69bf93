package zklive

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/queries"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/statuses"
)

// registry holds the claims of this process that have not ended. The fence
// /workers/ID distinguishes sessions, but not two goroutines of one session: the
// registry does.
type registry struct {
	mu      sync.Mutex
	claimed map[domain.Aggregate]*eventstore.Claim
	unknown map[*eventstore.Claim]bool // of claimed; see setUnknown
	orphans []*eventstore.Claim        // lost with a session, to be offered again under the next
}

// add adds a claim unless the aggregate has one.
func (r *registry) add(c *eventstore.Claim) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claimed[c.Aggregate] != nil {
		return false
	}
	r.claimed[c.Aggregate] = c
	return true
}

// holding reports whether a claim has not ended, and whether a commit under it has
// an unknown outcome.
func (r *registry) holding(c *eventstore.Claim) (valid, unknown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.claimed[c.Aggregate] == c, r.unknown[c]
}

// has reports whether this process holds a claim of the aggregate, or is making or
// releasing one.
func (r *registry) has(a domain.Aggregate) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.claimed[a] != nil
}

// replace removes a claim that has ended and adds the next one, nil = none.
func (r *registry) replace(c, next *eventstore.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.unknown, c); r.claimed[c.Aggregate] != c {
		return
	}
	if delete(r.claimed, c.Aggregate); next != nil {
		r.claimed[c.Aggregate] = next
	}
}

// setUnknown notes that a commit under the claim, nil = none, has an unknown outcome: it may
// have removed the lock, which another worker may hold now.
func (r *registry) setUnknown(c *eventstore.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c != nil && r.claimed[c.Aggregate] == c {
		r.unknown[c] = true
	}
}

// lost empties the registry when the session is lost: every claim under it is void.
func (r *registry) lost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphans = slices.AppendSeq(r.orphans, maps.Values(r.claimed))
	clear(r.claimed)
	clear(r.unknown)
}

// claims makes and ends claims: the right to move a batch or a job.
type claims struct {
	registry
	reader   *reader
	session  *session.Session
	send     sender
	holds    *holds
	statuses *statuses.Cache
	jobs     *jobQueues
	batches  *batchIndex
	log      *slog.Logger
}

func newClaims(log *slog.Logger) *claims {
	return &claims{registry: registry{claimed: map[domain.Aggregate]*eventstore.Claim{}, unknown: map[*eventstore.Claim]bool{}}, log: log}
}

func (x *claims) compose(r *reader, s *session.Session, send sender, h *holds, st *statuses.Cache, jobs *jobQueues, batches *batchIndex) {
	x.reader, x.session, x.send, x.holds, x.statuses, x.jobs, x.batches = r, s, send, h, st, jobs, batches
}

// offerOrphans offers the work of lost claims again when the next session begins.
func (x *claims) offerOrphans() {
	x.mu.Lock()
	orphans := x.orphans
	x.orphans = nil
	x.mu.Unlock()
	for _, c := range orphans {
		x.offer(c, 0)
	}
}

// offer puts released work back into its queue.
func (x *claims) offer(c *eventstore.Claim, delay time.Duration) {
	switch c.Aggregate.Kind {
	case domain.KindJob:
		x.jobs.offer(domain.JobID(c.Aggregate.ID), delay)
	case domain.KindBatch:
		x.batches.offer(domain.BatchID(c.Aggregate.ID), delay)
	}
}

// ClaimJob implements eventstore.Claims.
func (x *claims) ClaimJob(ctx context.Context, id domain.JobID) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	h, err := x.holds.Holds(ctx)
	if err != nil {
		return nil, eventstore.Loaded[domain.Job]{}, err
	}
	return x.claimJob(ctx, id, h, nil)
}

// claimJob locks a job, and tries again if only the cached status of its batch was
// outdated. fits, unless nil, may refuse the job as it is now.
func (x *claims) claimJob(ctx context.Context, id domain.JobID, h eventstore.Holds, fits func(domain.Job) error) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	for {
		c, at, err := x.tryClaimJob(ctx, id, h, fits)
		if !errors.Is(err, layout.ErrBatch) || ctx.Err() != nil {
			return c, at, err
		}
	}
}

// tryClaimJob locks a job. Its status, its configuration and its count of claims are
// read first; the rest is read while the claim is made: no part of a job changes
// without its status, and the claim proves that the status has not changed.
func (x *claims) tryClaimJob(ctx context.Context, id domain.JobID, h eventstore.Holds, fits func(domain.Job) error) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	if at, known := x.jobs.recall(id); known && fits != nil && fits(at.State) == nil {
		c, err := x.lockJob(ctx, at, 0, h)
		if !errors.Is(err, eventstore.ErrConflict) || errors.Is(err, eventstore.ErrLocked) || errors.Is(err, eventstore.ErrFenced) {
			return c, at, err
		}
	}
	var count layout.ClaimCount
	asked := domain.Job{ID: id}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { _, err := x.reader.conn.GetJSON(gctx, x.reader.root.Claims(id), &count); return err })
	g.Go(func() error { return x.reader.jobConfiguration(gctx, &asked) })
	at, compact, err := x.reader.jobStatus(ctx, id)
	switch part := g.Wait(); {
	case err != nil || compact: // it has left its queue, and has no such nodes
	case part != nil:
		err = x.reader.incompleteJob(ctx, &at, part)
	default:
		at.State.Configuration = asked.Configuration
	}
	if err != nil {
		return nil, at, err
	}
	if fits != nil {
		if err := fits(at.State); err != nil {
			return nil, at, err
		}
	}
	if compact {
		return nil, at, &eventstore.Error{Op: "claim", Aggregate: id.Aggregate(), Err: eventstore.ErrConflict, Hint: "it has left its queue"}
	}
	if count.Version != at.State.Version {
		count.Claims = 0
	}
	full := at // read into a copy of its own, beside the claim
	var rest errgroup.Group
	rest.Go(func() error { return x.reader.jobRest(ctx, &full) })
	c, err := x.lockJob(ctx, at, count.Claims, h)
	if rerr := rest.Wait(); err == nil && rerr != nil {
		x.release(c, 0)
		return nil, at, rerr
	}
	return c, full, err
}

// lockJob claims a job; before is how often it was claimed since its last event.
func (x *claims) lockJob(ctx context.Context, at eventstore.Loaded[domain.Job], before int, h eventstore.Holds) (*eventstore.Claim, error) {
	batch := at.State.Configuration.BatchID
	known, err := x.statuses.Alive(ctx, batch)
	if err != nil {
		return nil, err
	}
	c := &eventstore.Claim{Aggregate: at.State.ID.Aggregate(), Attempts: before + 1}
	err = x.lock(ctx, c, func() layout.Ops { return x.reader.root.ClaimJob(c, at, known.Token, h.Version) })
	if errors.Is(err, layout.ErrBatch) {
		x.statuses.Forget(batch)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ClaimBatch implements eventstore.Claims.
func (x *claims) ClaimBatch(ctx context.Context, id domain.BatchID) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	h, err := x.holds.Holds(ctx)
	if err != nil {
		return nil, eventstore.Loaded[domain.Batch]{}, err
	}
	return x.claimBatch(ctx, id, h, func(domain.Batch) error { return nil })
}

func (x *claims) claimBatch(ctx context.Context, id domain.BatchID, h eventstore.Holds, fits func(domain.Batch) error) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	at, err := x.reader.Batch(ctx, id)
	if err == nil {
		err = fits(at.State)
	}
	if err == nil && at.State.Waits() {
		err = &eventstore.Error{Op: "claim", Aggregate: id.Aggregate(), Err: eventstore.ErrConflict, Hint: "it waits in a deposit queue until it is grabbed"}
	}
	if err != nil {
		return nil, at, err
	}
	c := &eventstore.Claim{Aggregate: id.Aggregate()}
	if err := x.lock(ctx, c, func() layout.Ops { return x.reader.root.Claim(c, at.Token, h.Version) }); err != nil {
		return nil, at, err
	}
	return c, at, nil
}

// ClaimQuery implements eventstore.Queries.
func (x *claims) ClaimQuery(ctx context.Context, id domain.QueryID) (c *eventstore.Claim, at eventstore.Loaded[lookup.Query], err error) {
	h, err := x.holds.Holds(ctx)
	before := 0
	if err == nil {
		at, before, err = queries.New(x.reader.conn, x.reader.root).Running(ctx, id)
	}
	if err == nil {
		c = &eventstore.Claim{Aggregate: id.Aggregate(), Attempts: before + 1}
		err = x.lock(ctx, c, func() layout.Ops { return x.reader.root.ClaimQuery(c, at.Token, h.Version) })
	}
	return c, at, err
}

// lock sends a claim. If the outcome is unknown it reads the lock, which holds the
// worker's id.
func (x *claims) lock(ctx context.Context, c *eventstore.Claim, ops func() layout.Ops) error {
	failed := func(err error) error { return &eventstore.Error{Op: "claim", Aggregate: c.Aggregate, Err: err} }
	w, err := x.session.Worker(ctx)
	if err != nil {
		return err
	}
	c.ID, c.Worker, c.Lost, c.Silent = uuid.NewString(), w.ID, w.Lost, x.session.Silent()
	// The claim is added first: of two goroutines only one sends the multi, so that a
	// lock with this worker's id is this claim's.
	if !x.add(c) {
		return failed(eventstore.ErrLocked)
	}
	res := x.send.Send(ctx, &session.Request{Ops: ops()})
	switch {
	case res.Err == nil:
		return nil
	case session.Answered(res.Err):
		x.replace(c, nil)
		if errors.Is(res.Refusal, layout.ErrHolds) {
			x.holds.outdated()
		}
		return failed(res.Refusal)
	}
	x.abandon(c, 0)
	return failed(res.Err)
}

// failed ends the claim of a grab that was not written, or of which that is not known.
func (x *claims) failed(c *eventstore.Claim, err error) {
	if errors.Is(err, eventstore.ErrUnknown) {
		x.abandon(c, 0)
	} else {
		x.replace(c, nil)
	}
}

// Confirm implements eventstore.Claims. A multi, unlike a read, is answered by the
// leader. While ZooKeeper cannot be reached it waits.
func (x *claims) Confirm(ctx context.Context, c *eventstore.Claim) error {
	_, err := session.Retry(ctx, func() (none struct{}, err error) {
		res := x.send.Send(ctx, &session.Request{Ops: x.reader.root.Confirm(c)})
		switch {
		case session.Answered(res.Err):
			return none, session.Final(res.Refusal)
		case res.Err != nil && session.Closed(c.Lost):
			return none, session.Final(eventstore.ErrFenced)
		}
		return none, res.Err
	})
	if err != nil {
		return &eventstore.Error{Op: "confirm the claim", Aggregate: c.Aggregate, Err: err}
	}
	return nil
}

// Release implements eventstore.Claims. When ZooKeeper cannot be reached before
// ctx ends, the lock is released as soon as it can be.
func (x *claims) Release(ctx context.Context, c *eventstore.Claim, delay time.Duration) error {
	valid, unknown := x.holding(c)
	switch {
	case !valid:
		return nil
	case unknown:
		x.abandon(c, delay)
		return nil
	}
	if err := x.unlock(ctx, c); err != nil {
		x.release(c, delay)
		return &eventstore.Error{Op: "release", Aggregate: c.Aggregate, Err: err}
	}
	x.offer(c, delay)
	return nil
}

// release removes the lock of a claim that no goroutine uses any more, and tries until
// it succeeds: until then the claim stays in the registry, and its lock in the tree.
func (x *claims) release(c *eventstore.Claim, delay time.Duration) {
	x.session.Spawn(func() {
		if x.unlock(x.session.Context(), c) == nil {
			x.offer(c, delay)
		}
	})
}

// abandon ends a claim with an unknown outcome: a lock with this worker's id belongs to
// the claim and is removed; any other belongs to another process and stays. The lock is
// read after Flush: a write that was refused for what it shared may make it later.
func (x *claims) abandon(c *eventstore.Claim, delay time.Duration) {
	x.session.Spawn(func() {
		_, err := session.Retry(x.session.Context(), func() (none struct{}, err error) {
			if err := x.send.Flush(x.session.Context()); err != nil {
				return none, err
			}
			ours, err := x.holdsLock(x.session.Context(), c)
			if err == nil && ours {
				err = x.unlock(x.session.Context(), c)
			}
			return none, err
		})
		if err == nil {
			x.replace(c, nil)
			x.offer(c, delay)
		}
	})
}

// holdsLock reports whether the claim's worker holds the lock.
func (x *claims) holdsLock(ctx context.Context, c *eventstore.Claim) (bool, error) {
	return x.reader.conn.HeldBy(ctx, x.reader.root.Lock(c.Aggregate), c.Worker)
}

// unlock deletes the claim's lock, if its session still exists, and then removes the
// claim from the registry. Before it tries again it reads the lock: the deletion whose
// answer was lost may have been applied, and another worker may hold the lock now.
func (x *claims) unlock(ctx context.Context, c *eventstore.Claim) error {
	again := false
	_, err := session.Retry(ctx, func() (none struct{}, err error) {
		if session.Closed(c.Lost) {
			return none, nil // the lock ended with the session
		}
		for _, ops := range []layout.Ops{x.reader.root.Release(c), x.reader.root.Unlock(c)} {
			if again {
				if ours, err := x.holdsLock(ctx, c); err != nil || !ours {
					return none, err
				}
			}
			again = true
			if _, err = x.session.TryMulti(ctx, "zklive/claim/release", ops); !session.Answered(err) {
				break
			}
		}
		return none, err
	})
	if err != nil && !session.Answered(err) && x.session.Context().Err() == nil {
		return err
	}
	x.replace(c, nil)
	return nil
}

// unreadable has the batches and jobs that could not be claimed for this, and the holds.
type unreadable struct{ of sync.Map }

func (u *unreadable) set(a domain.Aggregate, is bool) {
	if is {
		u.of.Store(a, true)
	} else {
		u.of.Delete(a)
	}
}

// has reports whether an aggregate could not be read.
func (u *unreadable) has(a domain.Aggregate) bool {
	_, is := u.of.Load(a)
	return is
}

// Unreadable counts the batches, jobs and holds that this process could not read.
func (u *unreadable) Unreadable() (n int) {
	u.of.Range(func(any, any) bool { n++; return true })
	return n
}
