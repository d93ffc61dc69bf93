package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Handler makes every change of batches, jobs, settings, queries and entries: it loads the state,
// decides, and commits. After a conflict with another writer it loads and decides again.
// Files are changed by package files, because they are not part of the live state.
type Handler struct {
	Live    Live
	Catalog Catalog
	// Rings are the deposit queues, nil = there are none: a batch may be claimed at once.
	Rings Rings
	// Queries loads queries, nil = there are none.
	Queries Queries
	// Entries loads entries of the compute queue, nil = there are none.
	Entries Entries
	// Leases are those of entries, nil = there are none.
	Leases Leases
	// Profiles is needed to set profiles.
	Profiles Profiles
	Clock    func() time.Time
	NewID    func() string // a fresh command id (UUID)
	// Collection returns the collection of a profile; an unknown profile has none.
	Collection func(profile string) string
}

// Meta says who asks for a change, and in what context.
type Meta struct {
	Actor domain.Actor
	// CommandID makes a retry of the same command recognisable; "" = a new one.
	CommandID   string
	CausationID string
	TraceParent string
	// IfVersion is the only version of what the command is about that it may change, 0 = any.
	// With another one it is refused with ErrOutdated, unless it was written before.
	IfVersion int64
	// Claim is the claim under which the change is made, nil for an operator. KeepClaim
	// keeps it after the write.
	Claim     *Claim
	KeepClaim bool
	// Next requests hand-over: it is the state in which the job is claimed again, see
	// [Change.Next].
	Next domain.JobState
	// SpaceTerm is the term of the leader that promises working space, see
	// [Change.SpaceTerm].
	SpaceTerm *Token
	// Known is the job as the claim returned it, so that it need not be read again. If
	// it is outdated the write is refused, and the job is read.
	Known    *Loaded[domain.Job]
	profiles *Token // see Change.ProfilesVersion
	// DryRun decides the command and writes nothing: the result is the state that it
	// would lead to, the error the one that it would return.
	DryRun bool
}

// Result is the state after a command and what was recorded. If an earlier try has
// written the command, only the state is set.
type Result[S any] struct {
	Loaded[S]
	Before S
	Row    string // of the transition table, "" = the state stays
	Events []domain.Recorded
	Claim  *Claim // the new one, by hand-over (Meta.Next) or by a grab; nil = none
}

// maxConflicts bounds how often a command is decided again.
const maxConflicts = 20

// decided is a decision about a state, ready to be written by [kind.commit].
type decided[S any] struct {
	from    Loaded[S]      // the state that was decided upon
	batchID domain.BatchID // of the events: the batch itself, or that of the job; "" = none
	domain.Decision
	// change has the tokens of all else that the decision depends on. What the decision
	// does is added by [kind.change].
	change Change
}

// Batch decides and commits a command about a batch. If the rules refuse it the error
// is a *domain.Refused; see [Live.Commit] for other errors.
func (h *Handler) Batch(ctx context.Context, id domain.BatchID, cmd domain.BatchCommand, m Meta) (Result[domain.Batch], error) {
	h.ensureCommandID(&m)
	return retry(ctx, "decide", id.Aggregate(), func() (Result[domain.Batch], error) {
		from, err := h.Live.Batch(ctx, id)
		if errors.Is(err, ErrNotFound) {
			from, err = Loaded[domain.Batch]{State: domain.Batch{ID: id}}, nil
		}
		if err != nil {
			return Result[domain.Batch]{}, err
		}
		if from.State.CommandID == m.CommandID {
			return Result[domain.Batch]{Loaded: from}, nil
		}
		if err := m.Outdated(from.State.Version); err != nil {
			return Result[domain.Batch]{}, err
		}
		facts, tokens, err := h.batchFacts(ctx, from.State, cmd)
		if err != nil {
			return Result[domain.Batch]{}, err
		}
		decision, err := domain.DecideBatch(from.State, cmd, facts)
		if err != nil {
			return Result[domain.Batch]{}, err
		}
		return batchKind.commit(ctx, h, decided[domain.Batch]{from: from, batchID: id, Decision: decision, change: tokens}, m)
	})
}

// batchFacts loads the facts that the rules need to decide the command, and returns in c the
// tokens of what was read: the write is refused if that has changed.
func (h *Handler) batchFacts(ctx context.Context, b domain.Batch, cmd domain.BatchCommand) (f domain.Facts, c Change, err error) {
	profile := b.Submission.ProfileName
	if submit, ok := cmd.(domain.SubmitBatch); ok {
		profile = submit.Submission.ProfileName
	}
	f.Collection = h.Collection(profile)
	needs := domain.BatchNeeds(cmd)
	if needs.Ticket && h.Rings != nil {
		user := b.Submission.Submitter
		if submit, ok := cmd.(domain.SubmitBatch); ok {
			user = submit.Submission.Submitter
		}
		if f.Ticket, err = h.Rings.Ticket(ctx, fair.QueueMetadata, user); err != nil {
			return f, c, err
		}
	}
	if needs.Holds {
		if err := h.holdFacts(ctx, &f, &c); err != nil {
			return f, c, err
		}
	}
	if needs.Pool {
		if err := h.poolFacts(ctx, &f, &c); err != nil {
			return f, c, err
		}
	}
	if needs.Count {
		refs, err := h.Live.Refs(ctx, b.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return f, c, err
		}
		f.Processing, f.Failed, f.Completed = refs.Processing, refs.Failed, refs.Completed
	}
	if needs.Jobs {
		err = h.batchJobFacts(ctx, b.ID, &f)
	}
	return f, c, err
}

// Job decides and commits a command about a job.
func (h *Handler) Job(ctx context.Context, id domain.JobID, cmd domain.JobCommand, m Meta) (Result[domain.Job], error) {
	h.ensureCommandID(&m)
	return retry(ctx, "decide", id.Aggregate(), func() (Result[domain.Job], error) {
		from, err := h.loadJob(ctx, id, &m)
		if err != nil {
			return Result[domain.Job]{}, err
		}
		if from.State.CommandID == m.CommandID {
			return Result[domain.Job]{Loaded: from}, nil
		}
		if err := m.Outdated(from.State.Version); err != nil {
			return Result[domain.Job]{}, err
		}
		d, err := h.decideJob(ctx, from, cmd)
		if err != nil {
			return Result[domain.Job]{}, err
		}
		return jobKind.commit(ctx, h, d, m)
	})
}

// loadJob returns m.Known on the first call, if it is set, and reads the job on later
// ones.
func (h *Handler) loadJob(ctx context.Context, id domain.JobID, m *Meta) (Loaded[domain.Job], error) {
	if known := m.Known; known != nil && known.State.ID == id {
		m.Known = nil
		return *known, nil
	}
	return h.Live.Job(ctx, id)
}

// decideJob decides a command about a job, after loading the facts that it needs.
func (h *Handler) decideJob(ctx context.Context, from Loaded[domain.Job], cmd domain.JobCommand) (d decided[domain.Job], err error) {
	conf := from.State.Configuration
	if c, ok := cmd.(domain.CreateJob); ok {
		conf = c.Configuration
	}
	d.from, d.batchID = from, conf.BatchID
	facts, needs := domain.Facts{Collection: h.Collection(conf.ProfileName)}, domain.JobNeeds(cmd)
	if needs.Holds {
		if err := h.holdFacts(ctx, &facts, &d.change); err != nil {
			return d, err
		}
	}
	if needs.Batch {
		b, err := h.Live.Batch(ctx, d.batchID)
		if err != nil {
			return d, err
		}
		facts.Batch, d.change.BatchToken = b.State.State, b.Token
	}
	d.Decision, err = domain.DecideJob(from.State, cmd, facts)
	return d, err
}

// CreateJobs creates the next jobs of a batch, for the rows of its manifest from nextRow on,
// in one write under the claim of the batch. It returns their events. The error is
// ErrConflict if row nextRow has its job already.
func (h *Handler) CreateJobs(ctx context.Context, first domain.JobID, nextRow int, cmds []domain.CreateJob, m Meta) ([]domain.Recorded, error) {
	h.ensureCommandID(&m)
	m.KeepClaim = true
	changes := make([]Change, len(cmds))
	var events []domain.Recorded
	for i, cmd := range cmds {
		d, err := h.decideJob(ctx, Loaded[domain.Job]{State: domain.Job{ID: first.Plus(nextRow + i)}}, cmd)
		if err == nil {
			changes[i], _, err = jobKind.change(h, d, m)
		}
		if err != nil {
			return nil, err
		}
		row := nextRow
		changes[i].NextRow = &row
		events = append(events, changes[i].Events...)
	}
	_, err := h.Live.Commit(ctx, changes...)
	if err != nil {
		return nil, err
	}
	return events, nil
}

// Hold sets a hold or pause, or releases it if hold is nil.
func (h *Handler) Hold(ctx context.Context, kind domain.SettingKind, name string, hold *domain.Hold, why string, m Meta) (Result[domain.Setting], error) {
	return h.changeSetting(ctx, "hold", kind, name, func(s domain.Setting) (domain.Decision, error) { return domain.DecideHold(s, hold, why) }, m)
}

// Timeouts sets how long attempts at files may take. A timeout that t does not have stays.
func (h *Handler) Timeouts(ctx context.Context, t domain.Timeouts, why string, m Meta) (Result[domain.Setting], error) {
	return h.changeSetting(ctx, "set", domain.SettingTimeouts, domain.TimeoutsFiles, func(s domain.Setting) (domain.Decision, error) { return domain.DecideTimeouts(s, t, why) }, m)
}

// QueueSetting changes a setting of a deposit queue, a dataset or a discovery to the value that
// edit returns for the present one. It must not modify its argument.
func (h *Handler) QueueSetting(ctx context.Context, kind domain.SettingKind, name string, edit func(domain.SettingValue) domain.SettingValue, why string, m Meta) (Result[domain.Setting], error) {
	return h.changeSetting(ctx, "set", kind, name, func(s domain.Setting) (domain.Decision, error) {
		return domain.DecideSetting(s, edit(s.SettingValue), why)
	}, m)
}

// Profile sets which content a profile has, or with nil that its file says so again. among is
// the version of all profiles with which that was compared: if it is another one meanwhile, the
// change is refused with ErrOtherProfiles.
func (h *Handler) Profile(ctx context.Context, name string, to *domain.Profile, why string, among Token, m Meta) (Result[domain.Setting], error) {
	m.profiles = &among
	return h.changeSetting(ctx, "set", domain.SettingProfile, name, func(s domain.Setting) (domain.Decision, error) {
		switch now, err := h.Profiles.ProfilesVersion(ctx); {
		case err != nil:
			return domain.Decision{}, err
		case now != among:
			return domain.Decision{}, &Error{Op: "set", Aggregate: s.Aggregate(), Err: ErrOtherProfiles}
		}
		return domain.DecideSetting(s, domain.SettingValue{Profile: to}, why)
	}, m)
}

// changeSetting decides and commits a change of a setting.
func (h *Handler) changeSetting(ctx context.Context, op string, kind domain.SettingKind, name string, decide func(domain.Setting) (domain.Decision, error), m Meta) (Result[domain.Setting], error) {
	h.ensureCommandID(&m)
	return retry(ctx, op, domain.SettingAggregate(kind, name), func() (Result[domain.Setting], error) {
		from, err := h.Live.Setting(ctx, kind, name)
		if err != nil {
			return Result[domain.Setting]{}, err
		}
		if err := m.Outdated(from.State.Version); err != nil {
			return Result[domain.Setting]{}, err
		}
		if a := domain.SettingAggregate(kind, name); from.State.Newer {
			return Result[domain.Setting]{}, &domain.Refused{Aggregate: a, State: from.State.Status(), Code: domain.CodeIllegal,
				Message: a.String() + " was set by a newer program, with what this one does not know: change it with the newer one"}
		}
		dec, err := decide(from.State)
		if err != nil {
			return Result[domain.Setting]{}, err
		}
		return settingKind.commit(ctx, h, decided[domain.Setting]{from: from, Decision: dec}, m)
	})
}

// kind says how the states of one kind of aggregate are folded and written.
type kind[S any] struct {
	evolve func(S, domain.Recorded) (S, error)
	set    func(*Change, *Transition[S]) // sets the field of a change that is of this kind
}

var (
	batchKind   = kind[domain.Batch]{domain.EvolveBatch, func(c *Change, t *Transition[domain.Batch]) { c.Batch = t }}
	jobKind     = kind[domain.Job]{domain.EvolveJob, func(c *Change, t *Transition[domain.Job]) { c.Job = t }}
	settingKind = kind[domain.Setting]{domain.EvolveSetting, func(c *Change, t *Transition[domain.Setting]) { c.Setting = t }}
)

// change returns what a decision writes, and the state after it.
func (k kind[S]) change(h *Handler, d decided[S], m Meta) (c Change, to S, err error) {
	c, to = d.change, d.from.State
	c.Token, c.Require, c.Claim, c.KeepClaim, c.Next, c.SpaceTerm, c.ProfilesVersion = d.from.Token, d.Require, m.Claim, m.KeepClaim, m.Next, m.SpaceTerm, m.profiles
	if c.Events, c.JSON, err = m.Stamp(domain.At(h.Clock()), d.Events, d.batchID); err != nil {
		return c, to, err
	}
	for _, e := range c.Events {
		if to, err = k.evolve(to, e); err != nil {
			return c, to, err
		}
	}
	k.set(&c, &Transition[S]{From: d.from.State, To: to})
	return c, to, nil
}

// commit writes a decision and returns the state after it. A dry run writes nothing, and
// returns the same.
func (k kind[S]) commit(ctx context.Context, h *Handler, d decided[S], m Meta) (Result[S], error) {
	c, to, err := k.change(h, d, m)
	if err != nil {
		return Result[S]{}, err
	}
	done := make([]Committed, 1)
	switch {
	case !m.DryRun:
		done, err = h.Live.Commit(ctx, c)
	case c.Require.Unlocked && (c.Claim == nil || c.Claim.Aggregate != c.Aggregate()):
		err = h.unlocked(ctx, &Error{Op: "commit", Aggregate: c.Aggregate(), Err: ErrLocked})
	}
	if err != nil {
		return Result[S]{}, err
	}
	for i := range c.Events {
		c.Events[i].Zxid = done[0].Zxid
	}
	return Result[S]{Loaded: Loaded[S]{State: to, Token: done[0].Token}, Before: d.from.State, Row: d.Row,
		Events: c.Events, Claim: done[0].Claim}, nil
}

// unlocked returns ifLocked if its aggregate is locked, else nil.
func (h *Handler) unlocked(ctx context.Context, ifLocked *Error) error {
	locked, err := h.Live.Locked(ctx, ifLocked.Aggregate)
	if err == nil && len(locked) > 0 {
		return ifLocked
	}
	return err
}

// batchJobFacts loads which jobs of a batch are in batch-processing, and which of all its
// jobs are locked.
func (h *Handler) batchJobFacts(ctx context.Context, id domain.BatchID, f *domain.Facts) error {
	all, err := h.batchJobs(ctx, id)
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

// batchJobs lists the jobs of a batch by sub-state.
func (h *Handler) batchJobs(ctx context.Context, id domain.BatchID) (map[domain.Sub][]domain.JobID, error) {
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

// holdFacts loads the hold on the collection, and the version to compare in the write.
func (h *Handler) holdFacts(ctx context.Context, f *domain.Facts, c *Change) error {
	holds, err := h.Live.Holds(ctx)
	if err != nil {
		return err
	}
	if hold, set := holds.Collections[f.Collection]; set {
		f.CollectionHold = &hold
	}
	c.HoldsVersion = holds.Version
	return nil
}

// ensureCommandID sets the id of a new command. All tries have the same id, so that one
// that was written is recognised.
func (h *Handler) ensureCommandID(m *Meta) {
	if m.CommandID == "" {
		m.CommandID = h.NewID()
	}
	m.CommandID = codec.SanitiseText(m.CommandID)
}

// Outdated returns ErrOutdated if the command is for another version than this one.
func (m Meta) Outdated(version int64) error {
	if m.IfVersion != 0 && m.IfVersion != version {
		return fmt.Errorf("%w: it has version %d, not %d", ErrOutdated, version, m.IfVersion)
	}
	return nil
}

// Stamp returns the events of a decision with their time, batch, actor and command.
// They equal what a reader of the log will decode (see [codec.Sanitise]), so that the live
// state, which is folded from them, equals the fold of the log. The data of each is
// returned as JSON too.
func (m Meta) Stamp(now domain.Time, events []domain.Event, batch domain.BatchID) (recorded []domain.Recorded, data [][]byte, err error) {
	recorded = make([]domain.Recorded, len(events))
	for i, e := range events {
		recorded[i] = domain.Recorded{Event: e, Time: now, BatchID: batch, Actor: m.Actor,
			CommandID: m.CommandID, CausationID: m.CausationID, TraceParent: m.TraceParent}
	}
	if data, err = codec.SanitiseAll(recorded); err != nil {
		return nil, nil, err
	}
	return recorded, data, nil
}

// retry calls try, and calls it again after each conflict, at most maxConflicts times. The
// pauses between are random, so that many writers of one node do not conflict again. It does
// not call try again if the claim or the aggregate is gone, the aggregate is locked or a
// limit is reached.
func retry[T any](ctx context.Context, op string, a domain.Aggregate, try func() (T, error)) (T, error) {
	pause := &backoff.ExponentialBackOff{InitialInterval: time.Millisecond, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: 50 * time.Millisecond}
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
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
			return res, err
		}
	}
}
