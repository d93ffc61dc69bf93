package eventstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// Rings are the deposit queues: whose batches and queries wait, whose run, and whose turn it
// is. All processes share them. A deposit joins, leaves and ends in the writes that move it.
type Rings interface {
	// Ticket returns the ticket of the next batch of a user in a queue. It is nil if
	// the live state is of a format without deposit queues.
	Ticket(ctx context.Context, queue, user string) (*domain.Ticket, error)
	// Grab waits until a processor may grab a batch. It calls write with the decision, and
	// decides again while write returns ErrConflict. A processor that does not exist, or is
	// stopped, grabs nothing.
	Grab(ctx context.Context, queue, processor string, write func(Leave) error) error
	// Park calls write with the decision that a waiting deposit leaves the queue without
	// being grabbed, and decides again as Grab does. ErrNotFound: it does not wait.
	Park(ctx context.Context, d Deposit, write func(Leave) error) error
	// RunningIn lists the ids of the deposits of a queue that run, those whose worker has died
	// among them.
	RunningIn(ctx context.Context, queue string) ([]string, error)
	// View reads what waits and runs of each user: first those with waiting deposits, by
	// slot, then those who only have running ones.
	View(ctx context.Context, queue string) (RingView, error)
	// Pool reads the pool of the synchronous deposits of a queue, with its present settings.
	// It is nil if the live state is of a format without deposit queues.
	Pool(ctx context.Context, queue string) (*Pool, error)
	// Waiting lists the ids of the waiting deposits of a user, first come first.
	Waiting(ctx context.Context, queue, user string) ([]string, error)
}

// Leave is the decision by which a batch or query leaves the ring of a deposit queue, because
// it is grabbed or parked, with what the write has to prove.
type Leave struct {
	Queue     string
	Processor string // that grabs, "" = the deposit is parked
	Decision  fair.Decision
	Deposit   domain.Aggregate
	// Ring is the ring as it was read. It must not have changed.
	Ring      RingState
	RingToken Token
	// Settings is the version of the settings of the queue that the decision relied on,
	// for a grab.
	Settings Token
	// Running is how many deposits of the user run, for a grab; RunningToken is the
	// token of that number, if there are any.
	Running      int
	RunningToken Token
	// Claim is the claim that a grab makes; HoldsVersion is that of the holds.
	Claim        *Claim
	HoldsVersion int64
}

// Grabbed reports whether the decision is a grab, whose write claims the deposit. A nil Leave
// is none.
func (l *Leave) Grabbed() bool { return l != nil && l.Decision.Rule.Grabbed() }

// Position returns where the ring stands after the decision.
func (l *Leave) Position() domain.RingPosition { return domain.RingPosition(l.Decision.After) }

// RingState is the data of the ring of a deposit queue.
type RingState struct {
	domain.RingPosition
	NextSlot int64 `json:"next_slot"`
	// Writes counts the writes to the ring. Recent are the last of them, oldest first, so
	// that a process which missed a few need not read the whole ring.
	Writes int64      `json:"writes"`
	Recent []RingStep `json:"recent,omitempty"`
}

// RingStep is one write to a ring.
type RingStep struct {
	Rule    fair.Rule `json:"rule"` // by which a deposit left, or joined or returned
	User    string    `json:"user"`
	Slot    int64     `json:"slot"`
	Deposit string    `json:"batch"`             // id of a batch or query
	Size    int64     `json:"size,omitempty"`    // of a deposit that joined or returned
	Emptied bool      `json:"emptied,omitempty"` // the user has left the ring
	domain.RingPosition
}

// The rules of steps by which a deposit comes into a ring.
const (
	StepJoined   fair.Rule = "joined"   // with its user
	StepReturned fair.Rule = "returned" // to the front of its user
)

// maxRecent is how many steps a ring remembers.
const maxRecent = 32

// After returns the ring after a step.
func (s RingState) After(step RingStep) RingState {
	s.Writes++
	s.RingPosition = step.RingPosition
	s.NextSlot = max(s.NextSlot, step.Slot+1)
	s.Recent = slices.Concat(s.Recent[max(0, len(s.Recent)+1-maxRecent):], []RingStep{step})
	return s
}

// Since returns the steps after a number of writes, oldest first; ok is false if some of
// them are forgotten.
func (s RingState) Since(writes int64) (steps []RingStep, ok bool) {
	missed := s.Writes - writes
	if missed < 0 || missed > int64(len(s.Recent)) {
		return nil, false
	}
	return s.Recent[int64(len(s.Recent))-missed:], true
}

// Apply takes what an event says of the deposit queue.
func (s *RingState) Apply(t *domain.Ticket, ring *domain.RingPosition) {
	if t != nil {
		s.NextSlot = max(s.NextSlot, t.Slot+1)
	}
	if ring != nil && ring.Turn > s.Turn {
		s.RingPosition = *ring
	}
}

// ApplyOf takes what an event of a deposit says, and keeps in Recent, in the order of the
// turns, the last deposits that left, of which it knows no rule.
func (s *RingState) ApplyOf(deposit string, t *domain.Ticket, ring *domain.RingPosition) {
	s.Apply(t, ring)
	if ring == nil {
		return
	}
	step := RingStep{Deposit: deposit, RingPosition: *ring}
	if t != nil {
		step.User, step.Slot = t.User, t.Slot
	}
	i, met := slices.BinarySearchFunc(s.Recent, ring.Turn, func(r RingStep, turn int64) int { return cmp.Compare(r.Turn, turn) })
	if !met {
		s.Recent = slices.Insert(slices.Clip(s.Recent), i, step)
		s.Recent = s.Recent[max(0, len(s.Recent)-maxRecent):]
	}
}

// RecentSound reports whether the steps that the ring remembers may be its last ones: whether
// each was counted, has the turn after the one before it, or the same if a deposit came, and
// the last has the turn of the ring; and whether the deposits that left are those of events,
// see [RingState.ApplyOf]. If these are not complete a turn may be missing there.
func (s RingState) RecentSound(events []RingStep, complete bool) bool {
	if int64(len(s.Recent)) > s.Writes {
		return false
	}
	for i, step := range s.Recent {
		came := step.Rule == StepJoined || step.Rule == StepReturned
		if i > 0 && (step.Turn != s.Recent[i-1].Turn+1 && !came || came && step.RingPosition != s.Recent[i-1].RingPosition) {
			return false
		}
		at, met := slices.BinarySearchFunc(events, step.Turn, func(r RingStep, turn int64) int { return cmp.Compare(r.Turn, turn) })
		if came || !met && !complete {
			continue
		}
		if !met {
			return false
		}
		e := events[at]
		if e.Deposit != step.Deposit || e.RingPosition != step.RingPosition || e.User != "" && (e.User != step.User || e.Slot != step.Slot) {
			return false
		}
	}
	n := len(s.Recent)
	return n == 0 || s.Recent[n-1].RingPosition == s.RingPosition
}

// Step returns the write by which the batch leaves.
func (l *Leave) Step() RingStep {
	d := l.Decision
	return RingStep{Rule: d.Rule, User: d.User, Slot: d.Slot, Deposit: l.Deposit.ID, Emptied: d.Emptied, RingPosition: l.Position()}
}

// Grab waits until a processor may grab a batch of a deposit queue, and grabs it: the
// batch leaves the queue, runs from then on, and is claimed for the caller, by one write
// with its event.
func (h *Handler) Grab(ctx context.Context, queue, processor string, m Meta) (res Result[domain.Batch], err error) {
	err = h.Rings.Grab(ctx, queue, processor, func(l Leave) error {
		at := domain.Ticket{Queue: queue, User: l.Decision.User, Slot: l.Decision.Slot, Turn: l.Decision.After.Turn}
		res, err = h.leave(ctx, l, domain.GrabBatch{Ticket: at, Ring: l.Position(), Rule: string(l.Decision.Rule), Processor: processor}, m)
		return err
	})
	return res, err
}

// Park takes a waiting batch out of its deposit queue until it is released.
func (h *Handler) Park(ctx context.Context, id domain.BatchID, why domain.Reason, m Meta) (res Result[domain.Batch], err error) {
	from, err := h.Live.Batch(ctx, id)
	if err != nil {
		return res, err
	}
	if !from.State.Waits() || h.Rings == nil {
		_, err = domain.DecideBatch(from.State, domain.ParkBatch{Reason: why}, domain.Facts{})
		return res, err
	}
	err = h.Rings.Park(ctx, DepositOfBatch(from.State), func(l Leave) error {
		res, err = h.leave(ctx, l, domain.ParkBatch{Reason: why, Ring: l.Position()}, m)
		return err
	})
	return res, err
}

// leave decides and commits, once, that a batch leaves its queue.
func (h *Handler) leave(ctx context.Context, l Leave, cmd domain.BatchCommand, m Meta) (Result[domain.Batch], error) {
	h.ensureCommandID(&m)
	id := domain.BatchID(l.Deposit.ID)
	from, err := h.Live.Batch(ctx, id)
	if err != nil {
		return Result[domain.Batch]{}, err
	}
	facts := domain.Facts{Collection: h.Collection(from.State.Submission.ProfileName)}
	dec, err := domain.DecideBatch(from.State, cmd, facts)
	if err != nil {
		return Result[domain.Batch]{}, err
	}
	return batchKind.commit(ctx, h, decided[domain.Batch]{from: from, batchID: id, Decision: dec, change: Change{Leave: &l}}, m)
}
