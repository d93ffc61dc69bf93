package eventstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
)

// Entries are the entries of the compute queue. They change by [Live.Commit].
type Entries interface {
	// LoadEntry reads an entry.
	LoadEntry(ctx context.Context, id compute.ID) (Loaded[compute.Entry], error)
	// EntryOfKey returns the entry that was requested under a key.
	EntryOfKey(ctx context.Context, key string) (compute.ID, error)
	// ReserveEntryID returns an id that no other caller gets, also when it is never used.
	ReserveEntryID(ctx context.Context) (compute.ID, error)
	// TakeEntry waits until an entry waits that a worker takes. It calls write with it, and
	// chooses again while write returns ErrConflict. While the queue ingest is paused no
	// entry is taken.
	TakeEntry(ctx context.Context, wants compute.Wants, write func(Take) error) error
	// RunEntry shows that the worker which claimed an entry has its inputs. ErrFenced: it
	// has the entry no longer.
	RunEntry(ctx context.Context, c *Claim, at Loaded[compute.Entry]) error
	// OrphanEntries lists the entries that are owned, and have no worker any more, sorted.
	OrphanEntries(ctx context.Context) ([]compute.ID, error)
	// EntryIDs lists the entries that wait, are owned by a worker, or have ended.
	EntryIDs(ctx context.Context) (EntryIDs, error)
}

// EntryIDs are the ids of entries, sorted.
type EntryIDs struct{ Waiting, Owned, Done, Failed []compute.ID }

// Take is an entry that a worker takes, the older ones that it passes over, and the claim
// that the write makes.
type Take struct {
	Entry        Loaded[compute.Entry]
	Passed       []Loaded[compute.Entry]
	Claim        *Claim
	HoldsVersion int64
}

// Lease is the claim of a worker that has no session: it ends by itself unless it is renewed.
// It outlives the process that has made it.
type Lease struct {
	Worker  string
	SHA256  string // of the token with which the worker shows that the lease is its own
	Timeout time.Duration
	// Command is the id of the claim by which it was taken, under which it is found when the claim
	// is sent again; "" = it cannot be. Before is the version of what says so of an earlier lease, as
	// LeaseOfCommand returned it.
	Command string
	Before  int64
	// Salt is what the token was made of beside the request that asked for the lease, so that the
	// same request again has the same token; "" = the token is random.
	Salt string
	// Progress is what the worker has said last of how far it is, "" = nothing.
	Progress string
	Version  int64 // of the node: it is another one after each renewal
	// Renewed is when it began or was renewed last, by the clock of the server.
	Renewed time.Time
}

// ClaimCommand begins the ids of claims that can be sent again.
const ClaimCommand = "claim-"

// Leases are the leases of entries.
type Leases interface {
	// LoadLease reads the lease of an entry. ErrNotFound: it has none.
	LoadLease(ctx context.Context, id compute.ID) (Lease, error)
	// LeaseOfCommand returns the lease that was taken by a claim with this id, and its entry.
	// ErrNotFound: there is none any more; the next one that the same claim takes has the Before
	// that is returned also then.
	LeaseOfCommand(ctx context.Context, command string) (compute.ID, Lease, error)
	// RenewLease lets a lease begin again, as it was read. ErrConflict: it is another one.
	RenewLease(ctx context.Context, id compute.ID, l Lease) error
	// EndOverdueLeases ends the leases that were not renewed in time, by the clock of the
	// server, and returns their entries: these are orphans then.
	EndOverdueLeases(ctx context.Context) ([]compute.ID, error)
}

var entryKind = kind[compute.Entry]{compute.Evolve, func(c *Change, t *Transition[compute.Entry]) { c.Entry = t }}

// RequestEntry makes an entry, or returns the one that was made under the same key. In a dry run the
// entry that it would make has no id.
func (h *Handler) RequestEntry(ctx context.Context, cmd compute.Request, m Meta) (Result[compute.Entry], error) {
	h.ensureCommandID(&m)
	return retry(ctx, "request", domain.Aggregate{Kind: domain.KindEntry, ID: cmd.Work.Key}, func() (Result[compute.Entry], error) {
		switch id, err := h.Entries.EntryOfKey(ctx, cmd.Work.Key); {
		case err == nil:
			at, err := h.Entries.LoadEntry(ctx, id)
			if errors.Is(err, ErrNotFound) {
				err = ErrConflict // it is purged at this moment
			}
			return Result[compute.Entry]{Loaded: at}, err
		case !errors.Is(err, ErrNotFound):
			return Result[compute.Entry]{}, err
		}
		if _, err := compute.Decide(compute.Entry{}, cmd); err != nil {
			return Result[compute.Entry]{}, err // before an id is used up
		}
		if m.DryRun {
			return h.entry(ctx, Loaded[compute.Entry]{}, cmd, m)
		}
		id, err := h.Entries.ReserveEntryID(ctx)
		if err != nil {
			return Result[compute.Entry]{}, err
		}
		return h.entry(ctx, Loaded[compute.Entry]{State: compute.Entry{ID: id}}, cmd, m)
	})
}

// Entry decides and commits a command about an entry that is there.
func (h *Handler) Entry(ctx context.Context, id compute.ID, cmd compute.Command, m Meta) (Result[compute.Entry], error) {
	h.ensureCommandID(&m)
	return retry(ctx, "decide", id.Aggregate(), func() (Result[compute.Entry], error) {
		from, err := h.Entries.LoadEntry(ctx, id)
		if err != nil {
			return Result[compute.Entry]{}, err
		}
		if from.State.CommandID == m.CommandID {
			return Result[compute.Entry]{Loaded: from}, nil
		}
		if err := m.Outdated(from.State.Version); err != nil {
			return Result[compute.Entry]{}, err
		}
		return h.entry(ctx, from, cmd, m)
	})
}

// TakeEntry waits until an entry waits that a worker takes, and takes it. The result has the
// claim, and the entry with the token that is its fence.
func (h *Handler) TakeEntry(ctx context.Context, wants compute.Wants, m Meta) (Result[compute.Entry], error) {
	return h.takeEntry(ctx, wants, nil, m)
}

// LeaseEntry is like TakeEntry, for a worker without a session: it gets a lease in place of a
// claim.
func (h *Handler) LeaseEntry(ctx context.Context, wants compute.Wants, l Lease, m Meta) (Result[compute.Entry], error) {
	return h.takeEntry(ctx, wants, &l, m)
}

func (h *Handler) takeEntry(ctx context.Context, wants compute.Wants, l *Lease, m Meta) (res Result[compute.Entry], err error) {
	err = h.Entries.TakeEntry(ctx, wants, func(t Take) error {
		m := m
		h.ensureCommandID(&m)
		worker := t.Claim.Worker
		if l != nil {
			worker, t.Claim.Lease = l.Worker, l
		}
		d, err := compute.Decide(t.Entry.State, compute.Claim{Worker: worker})
		if err != nil {
			return errors.Join(ErrConflict, err)
		}
		d.Require.Holds = true
		c, to, err := entryKind.change(h, decided[compute.Entry]{from: t.Entry, Decision: d, change: Change{EntryClaim: t.Claim, HoldsVersion: t.HoldsVersion}}, m)
		if err != nil {
			return err
		}
		changes := []Change{c}
		for _, p := range t.Passed {
			after := p.State
			after.Passed++
			changes = append(changes, Change{Entry: &Transition[compute.Entry]{From: p.State, To: after}, Token: p.Token})
		}
		done, err := h.Live.Commit(ctx, changes...)
		if err != nil {
			return err
		}
		for i := range c.Events {
			c.Events[i].Zxid = done[0].Zxid
		}
		res = Result[compute.Entry]{Loaded: Loaded[compute.Entry]{State: to, Token: done[0].Token}, Before: t.Entry.State, Row: d.Row, Events: c.Events, Claim: done[0].Claim}
		return nil
	})
	return res, err
}

// EndEntry ends the claim of an entry with a command of its worker. taken is what TakeEntry
// returned: the write is refused with ErrFenced if anything has happened to the entry since.
func (h *Handler) EndEntry(ctx context.Context, taken Result[compute.Entry], cmd compute.Command, m Meta) (Result[compute.Entry], error) {
	h.ensureCommandID(&m)
	m.Claim = taken.Claim
	res, err := h.entry(ctx, taken.Loaded, cmd, m)
	if errors.Is(err, ErrConflict) && !errors.Is(err, ErrFenced) {
		err = &Error{Op: "end", Aggregate: taken.State.ID.Aggregate(), Err: ErrFenced}
	}
	return res, err
}

// Leased returns an entry with its lease, if it is that of a token. ErrFenced: it is not, or
// no more.
func (h *Handler) Leased(ctx context.Context, id compute.ID, sha256 string) (at Loaded[compute.Entry], l Lease, err error) {
	at, err = h.Entries.LoadEntry(ctx, id)
	if err == nil {
		// Read after the entry: if it is still there, nothing has happened to the entry.
		l, err = h.Leases.LoadLease(ctx, id)
	}
	if errors.Is(err, ErrNotFound) || err == nil && (l.SHA256 != sha256 || !at.State.Owned()) {
		err = &Error{Op: "find the lease", Aggregate: id.Aggregate(), Err: ErrFenced}
	}
	return at, l, err
}

// RenewLease lets the lease of a token begin again; progress "" leaves what was said last.
// ErrFenced: it has ended.
func (h *Handler) RenewLease(ctx context.Context, id compute.ID, sha256, progress string) (at Loaded[compute.Entry], l Lease, err error) {
	return at, l, h.leased(ctx, id, sha256, func(now Loaded[compute.Entry], has Lease) error {
		has.Progress = cmp.Or(progress, has.Progress)
		at, l = now, has
		return h.Leases.RenewLease(ctx, id, has)
	})
}

// EndLease ends the lease of a token with a command of its worker. ErrFenced: it has ended.
func (h *Handler) EndLease(ctx context.Context, id compute.ID, sha256 string, cmd compute.Command, m Meta) (res Result[compute.Entry], err error) {
	h.ensureCommandID(&m)
	return res, h.leased(ctx, id, sha256, func(at Loaded[compute.Entry], l Lease) error {
		d, err := compute.Decide(at.State, cmd)
		if err == nil {
			res, err = entryKind.commit(ctx, h, decided[compute.Entry]{from: at, Decision: d, change: Change{Lease: &l}}, m)
		}
		return err
	})
}

// leased calls do with the entry and lease of a token, again while a renewal is first.
func (h *Handler) leased(ctx context.Context, id compute.ID, sha256 string, do func(Loaded[compute.Entry], Lease) error) error {
	_, err := retry(ctx, "use the lease", id.Aggregate(), func() (struct{}, error) {
		at, l, err := h.Leased(ctx, id, sha256)
		if err == nil {
			err = do(at, l)
		}
		return struct{}{}, err
	})
	return err
}

// entry decides and commits once.
func (h *Handler) entry(ctx context.Context, from Loaded[compute.Entry], cmd compute.Command, m Meta) (Result[compute.Entry], error) {
	d, err := compute.Decide(from.State, cmd)
	if err != nil {
		return Result[compute.Entry]{}, err
	}
	return entryKind.commit(ctx, h, decided[compute.Entry]{from: from, Decision: d}, m)
}
