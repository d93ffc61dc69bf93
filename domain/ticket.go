package domain

// Ticket is what a batch or query has from a deposit queue. It waits there until its ticket
// has a turn, which it gets when it is grabbed; then it counts as running. A synchronous
// deposit runs from the beginning, and counts in the pool of its queue, not for its user.
type Ticket struct {
	Queue string `json:"queue"` // metadata or query
	User  string `json:"user"`  // who submitted it
	Slot  int64  `json:"slot"`  // of the user in the ring when the deposit joined the queue, 0 = it is synchronous
	// Turn is the number of the decision by which the deposit was grabbed, 0 = it waits, or
	// is synchronous.
	Turn        int64 `json:"turn,omitempty"`
	Synchronous bool  `json:"synchronous,omitempty"`
}

// Waits reports whether a deposit with this ticket waits to be grabbed; without one, nil, it
// does not.
func (t *Ticket) Waits() bool { return t != nil && t.Turn == 0 && !t.Synchronous }

// Runs reports whether a deposit with this ticket counts as running, for its user or in the
// pool.
func (t *Ticket) Runs() bool { return t != nil && !t.Waits() }

// Pooled reports whether its place is one of the pool of synchronous deposits.
func (t *Ticket) Pooled() bool { return t != nil && t.Synchronous }

// RingPosition is where the ring of a deposit queue stands after a decision. The decision
// with the highest turn is the last.
type RingPosition struct {
	Turn   int64 `json:"turn"`
	Cursor int64 `json:"cursor"` // slot of the user who is visited, 0 = of the first
	Used   int   `json:"used"`   // batches grabbed in this visit
	// Lap is the highest slot of this lap, 0 = none has begun.
	Lap int64 `json:"lap,omitempty"`
}

// Waits reports whether the batch waits in a deposit queue: it has to be grabbed before a
// daemon may work on it.
func (b Batch) Waits() bool { return b.Ticket.Waits() }

// Runs reports whether the batch counts among the running ones of its user, or of the pool.
func (b Batch) Runs() bool { return b.Ticket.Runs() }

// ticketAfter returns the ticket of a batch after an event. It is kept until the batch is
// held or reported, or its place was freed.
func (b Batch) ticketAfter(t EventType, m BatchMove) *Ticket {
	switch {
	case t == EventBatchFreed:
		return nil
	case m.To != BatchPending && m.To != BatchProcessing && m.To != BatchReporting:
		return nil
	case m.Ticket != nil:
		p := *m.Ticket
		return &p
	}
	return b.Ticket
}
