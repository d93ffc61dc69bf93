package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Handler is the only door through which batches, jobs and settings change:
// load → decide → commit. A conflict makes it load and decide again.
type Handler struct {
	Live    Live
	Catalog Catalog
	Clock   func() time.Time
	NewID   func() string // a fresh command id (UUID)
	// Collection gives the collection of a profile; an unknown profile has none.
	Collection func(profile string) string
}

// Meta says who asks for a change, and in what context.
type Meta struct {
	Actor domain.Actor
	// CommandID makes a retry of the same command recognisable; "" = a new one.
	CommandID   string
	CausationID string
	TraceParent string
	// Claim is the mover's, nil for an operator; KeepClaim says that work goes on
	// under it after the write.
	Claim     *Claim
	KeepClaim bool
	// Next is the state in which the mover wants to go on with the job, see
	// [Change.Next].
	Next domain.JobState
	// SpaceTerm is the lead under which working space is promised, see
	// [Change.SpaceTerm].
	SpaceTerm *Token
	// Known is the job as its claim gave it: it spares reading it again. Should it
	// be outdated after all, the write is refused and the job is read.
	Known *Loaded[domain.Job]
	// DryRun decides and writes nothing: the result is what would be, and the error
	// what would refuse it.
	DryRun bool
}

// Result is the state after a command and what was recorded. A command that an
// earlier try has written gives the state alone.
type Result[S any] struct {
	Loaded[S]
	Before S
	Row    string
	Events []domain.Recorded
	Claim  *Claim // of Order.Next, nil = the job was not handed over
}

// maxConflicts bounds how often a command is decided again.
const maxConflicts = 20

// Batch decides and commits a command about a batch. The answer of the rules is
// *domain.Refused; see [Live.Commit] for the others.
func (h *Handler) Batch(ctx context.Context, id domain.BatchID, cmd domain.BatchCommand, o Meta) (Result[domain.Batch], error) {
	h.complete(&o)
	return retry(ctx, "decide", id.Aggregate(), func() (Result[domain.Batch], error) {
		at, err := h.Live.Batch(ctx, id)
		if errors.Is(err, ErrNotFound) {
			at, err = Loaded[domain.Batch]{State: domain.Batch{ID: id}}, nil
		}
		if err != nil {
			return Result[domain.Batch]{}, err
		}
		if at.State.CommandID == o.CommandID {
			return Result[domain.Batch]{Loaded: at}, nil
		}
		return h.batch(ctx, at, cmd, o)
	})
}

func (h *Handler) batch(ctx context.Context, at Loaded[domain.Batch], cmd domain.BatchCommand, o Meta) (res Result[domain.Batch], err error) {
	facts, change := domain.Facts{}, Change{Token: at.Token, Claim: o.Claim, KeepClaim: o.KeepClaim}
	needs := domain.BatchNeeds(cmd)
	if needs.Holds {
		if err := h.holds(ctx, at.State.Submission.ProfileName, &facts, &change); err != nil {
			return res, err
		}
	}
	if needs.Count {
		refs, err := h.Live.Refs(ctx, at.State.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return res, err
		}
		facts.Processing, facts.Failed, facts.Completed = refs.Processing, refs.Failed, refs.Completed
	}
	if needs.Jobs {
		if err := h.jobs(ctx, at.State.ID, &facts); err != nil {
			return res, err
		}
	}
	dec, err := domain.DecideBatch(at.State, cmd, facts)
	if err != nil {
		return res, err
	}
	if change.Events, err = h.stamp(dec.Events, at.State.ID, o); err != nil {
		return res, err
	}
	change.Require = dec.Require
	after := at.State
	for _, e := range change.Events {
		if after, err = domain.EvolveBatch(after, e); err != nil {
			return res, err
		}
	}
	change.Batch = &Transition[domain.Batch]{From: at.State, To: after}
	done, err := h.commit(ctx, change, o)
	if err != nil {
		return res, err
	}
	return Result[domain.Batch]{Loaded: Loaded[domain.Batch]{State: after, Token: done.Token}, Before: at.State, Row: dec.Row,
		Events: stamped(change.Events, done.Zxid)}, nil
}

// commit writes one change, unless it is only tried.
func (h *Handler) commit(ctx context.Context, c Change, o Meta) (Committed, error) {
	if o.DryRun {
		return Committed{}, h.unlocked(ctx, c)
	}
	done, err := h.Live.Commit(ctx, c)
	if err != nil {
		return Committed{}, err
	}
	return done[0], nil
}

// unlocked refuses what the write would refuse because somebody holds the lock.
func (h *Handler) unlocked(ctx context.Context, c Change) error {
	if !c.Require.Unlocked || c.Claim != nil && c.Claim.Aggregate == c.Aggregate() {
		return nil
	}
	locked, err := h.Live.Locked(ctx, c.Aggregate())
	if err == nil && len(locked) > 0 {
		err = &Error{Op: "commit", Aggregate: c.Aggregate(), Err: ErrLocked}
	}
	return err
}

// jobs finds which jobs of a batch are being processed, and which of all are
// held by somebody.
func (h *Handler) jobs(ctx context.Context, id domain.BatchID, f *domain.Facts) error {
	all, err := h.jobsOf(ctx, id)
	if err != nil {
		return err
	}
	f.Open = all[domain.SubProcessing]
	var names []domain.Aggregate
	for _, sub := range domain.Subs {
		for _, j := range all[sub] {
			names = append(names, j.Aggregate())
		}
	}
	locked, err := h.Live.Locked(ctx, names...)
	for _, a := range locked {
		f.Locked = append(f.Locked, domain.JobID(a.ID))
	}
	return err
}

func (h *Handler) jobsOf(ctx context.Context, id domain.BatchID) (map[domain.Sub][]domain.JobID, error) {
	all := map[domain.Sub][]domain.JobID{}
	for _, sub := range domain.Subs {
		jobs, err := h.Live.BatchJobs(ctx, id, sub)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		all[sub] = jobs
	}
	return all, nil
}

// Job decides and commits a command about a job.
func (h *Handler) Job(ctx context.Context, id domain.JobID, cmd domain.JobCommand, o Meta) (Result[domain.Job], error) {
	h.complete(&o)
	return retry(ctx, "decide", id.Aggregate(), func() (Result[domain.Job], error) {
		at, err := h.job(ctx, id, &o)
		if err != nil {
			return Result[domain.Job]{}, err
		}
		if at.State.CommandID == o.CommandID {
			return Result[domain.Job]{Loaded: at}, nil
		}
		change, row, err := h.decideJob(ctx, at, cmd, o)
		if err != nil {
			return Result[domain.Job]{}, err
		}
		done, err := h.commit(ctx, change, o)
		if err != nil {
			return Result[domain.Job]{}, err
		}
		return Result[domain.Job]{Loaded: Loaded[domain.Job]{State: change.Job.To, Token: done.Token}, Before: at.State, Row: row,
			Events: stamped(change.Events, done.Zxid), Claim: done.Claim}, nil
	})
}

// job gives the job as the caller knows it, the first time, and then as it is.
func (h *Handler) job(ctx context.Context, id domain.JobID, o *Meta) (Loaded[domain.Job], error) {
	if known := o.Known; known != nil && known.State.ID == id {
		o.Known = nil
		return *known, nil
	}
	return h.Live.Job(ctx, id)
}

func (h *Handler) decideJob(ctx context.Context, at Loaded[domain.Job], cmd domain.JobCommand, o Meta) (change Change, row string, err error) {
	facts := domain.Facts{}
	change = Change{Token: at.Token, Claim: o.Claim, KeepClaim: o.KeepClaim, Next: o.Next, SpaceTerm: o.SpaceTerm}
	needs := domain.JobNeeds(cmd)
	if needs.Holds {
		if err := h.holds(ctx, at.State.Configuration.ProfileName, &facts, &change); err != nil {
			return change, "", err
		}
	}
	if needs.Batch {
		b, err := h.Live.Batch(ctx, at.State.Configuration.BatchID)
		if err != nil {
			return change, "", err
		}
		facts.Batch, change.BatchToken = b.State.State, b.Token
	}
	dec, err := domain.DecideJob(at.State, cmd, facts)
	if err != nil {
		return change, "", err
	}
	batch := at.State.Configuration.BatchID
	if c, ok := cmd.(domain.CreateJob); ok {
		batch = c.Configuration.BatchID
	}
	if change.Events, err = h.stamp(dec.Events, batch, o); err != nil {
		return change, "", err
	}
	change.Require = dec.Require
	after := at.State
	for _, e := range change.Events {
		if after, err = domain.EvolveJob(after, e); err != nil {
			return change, "", err
		}
	}
	change.Job = &Transition[domain.Job]{From: at.State, To: after}
	return change, dec.Row, nil
}

// CreateJobs makes consecutive jobs of a batch in one write, from row nextRow on,
// under the batch's claim. ErrConflict: somebody else made them.
func (h *Handler) CreateJobs(ctx context.Context, first domain.JobID, nextRow int, cmds []domain.CreateJob, o Meta) ([]domain.Recorded, error) {
	h.complete(&o)
	o.KeepClaim = true
	changes := make([]Change, 0, len(cmds))
	var events []domain.Recorded
	for i, cmd := range cmds {
		at := Loaded[domain.Job]{State: domain.Job{ID: first.Plus(nextRow + i)}}
		change, _, err := h.decideJob(ctx, at, cmd, o)
		if err != nil {
			return nil, err
		}
		row := nextRow
		change.NextRow = &row
		changes = append(changes, change)
		events = append(events, change.Events...)
	}
	if _, err := h.Live.Commit(ctx, changes...); err != nil {
		return nil, err
	}
	return events, nil
}

// Hold sets (h not nil) or lifts a hold or pause.
func (h *Handler) Hold(ctx context.Context, kind domain.HoldKind, name string, hold *domain.Hold, why string, o Meta) (Result[domain.Setting], error) {
	h.complete(&o)
	return retry(ctx, "hold", domain.SettingAggregate(kind, name), func() (Result[domain.Setting], error) {
		at, err := h.Live.Setting(ctx, kind, name)
		if err != nil {
			return Result[domain.Setting]{}, err
		}
		dec, err := domain.DecideHold(at.State, hold, why)
		if err != nil {
			return Result[domain.Setting]{}, err
		}
		events, err := h.stamp(dec.Events, "", o)
		if err != nil {
			return Result[domain.Setting]{}, err
		}
		after, err := domain.EvolveSetting(at.State, events[0])
		if err != nil {
			return Result[domain.Setting]{}, err
		}
		done, err := h.commit(ctx, Change{Setting: &Transition[domain.Setting]{From: at.State, To: after},
			Token: at.Token, Events: events}, o)
		if err != nil {
			return Result[domain.Setting]{}, err
		}
		return Result[domain.Setting]{Loaded: Loaded[domain.Setting]{State: after, Token: done.Token}, Before: at.State, Events: stamped(events, done.Zxid)}, nil
	})
}

func (h *Handler) holds(ctx context.Context, profile string, f *domain.Facts, c *Change) error {
	known, err := h.Live.Holds(ctx)
	if err != nil {
		return err
	}
	f.Collection = h.Collection(profile)
	if hold, held := known.Collections[f.Collection]; held {
		f.CollectionHold = &hold
	}
	c.HoldsVersion = known.Version
	return nil
}

func (h *Handler) complete(o *Meta) {
	if o.CommandID == "" {
		o.CommandID = h.NewID()
	}
	o.CommandID = codec.CleanText(o.CommandID)
}

// stamp makes the events recorded ones, under the handler's clock.
func (h *Handler) stamp(events []domain.Event, batch domain.BatchID, m Meta) ([]domain.Recorded, error) {
	return m.Stamp(domain.At(h.Clock()), events, batch)
}

// Stamp returns the events of a decision with what is recorded about them: when, of
// which batch, by whom, for which command. They are as they will be read again (see
// [codec.Clean]), so that the live state, folded from them, equals the fold of the log.
func (m Meta) Stamp(now domain.Time, events []domain.Event, batch domain.BatchID) ([]domain.Recorded, error) {
	recorded := make([]domain.Recorded, len(events))
	for i, e := range events {
		var err error
		if recorded[i], err = codec.Clean(domain.Recorded{Event: e, Time: now, BatchID: batch, Actor: m.Actor,
			CommandID: m.CommandID, CausationID: m.CausationID, TraceParent: m.TraceParent}); err != nil {
			return nil, err
		}
	}
	return recorded, nil
}

func stamped(events []domain.Recorded, zxid int64) []domain.Recorded {
	for i := range events {
		events[i].Zxid = zxid
	}
	return events
}

// retry decides again after a conflict, unless the claim or the aggregate is
// gone.
func retry[T any](ctx context.Context, op string, a domain.Aggregate, try func() (T, error)) (T, error) {
	for n := 0; ; n++ {
		res, err := try()
		again := errors.Is(err, ErrConflict) && !errors.Is(err, ErrFenced) && !errors.Is(err, ErrNotFound) &&
			!errors.Is(err, ErrLocked) && !errors.Is(err, ErrFull)
		if !again || ctx.Err() != nil {
			return res, err
		}
		if n == maxConflicts {
			return res, fmt.Errorf("%s %s: refused %d times by other writers: %w", op, a, n, err)
		}
	}
}
