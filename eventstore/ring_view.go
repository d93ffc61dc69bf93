package eventstore

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// RingView is a deposit queue as it was read, user by user: while others write it, it may be
// that of no single moment.
type RingView struct {
	State RingState
	Users []RingUser
	// Synchronous are the synchronous deposits that run, in the order of their ids.
	Synchronous []domain.BatchID
}

// RingUser is a user with waiting or running batches.
type RingUser struct {
	User    string
	Slot    int64 // 0 = nothing waits
	Waiting []fair.Deposit
	Running []string // ids of batches or queries
}

// Ring returns the queue as the rules know it.
func (v RingView) Ring() *fair.Ring {
	ring := &fair.Ring{}
	for _, u := range v.Users {
		if u.Slot > 0 {
			ring.Join(u.User, u.Slot)
			for _, d := range u.Waiting {
				ring.Put(u.User, d)
			}
			ring.Read(u.User, nil) // all are there
		}
		for _, id := range u.Running {
			ring.Start(u.User, id)
		}
	}
	ring.Seek(fair.Position(v.State.RingPosition), v.State.NextSlot-1)
	return ring
}
