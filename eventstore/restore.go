package eventstore

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// History is what folding the log gives of the live state: what a lost tree is made
// from.
type History struct {
	Events   uint64
	Epoch    int64          // the highest that was seen
	Batches  []domain.Batch // with the rows that have their jobs
	Jobs     []domain.Job
	Settings []domain.Setting
	// NextBatch and NextJob are numbers that no id of the log ever had, nor a higher one.
	NextBatch, NextJob int64
}

// Restorer makes a live state anew.
type Restorer interface {
	// Restore draws everything that the history has left, in an empty tree, and
	// begins a new epoch. *domain.Refused: the tree is not empty, or somebody works
	// on it, or a restore of the log comes first. A restore that was interrupted is
	// begun again.
	Restore(ctx context.Context, h History, progress func(done, total int)) error
	// Untouched reports whether the live state is not there, or nothing ever happened
	// in it: no id was given out, no setting changed.
	Untouched(ctx context.Context) (bool, error)
	// Exclude lets nobody else open the live state until Restored. *domain.Refused:
	// another process uses it, or it is half made: its own restore comes first.
	Exclude(ctx context.Context) error
	// NewEpoch begins one and gives it.
	NewEpoch(ctx context.Context) (int64, error)
	// Restored ends the restore that Restore or Exclude of this process began, or took
	// over, and no other: others may use the tree from now on.
	Restored(ctx context.Context) error
	// Shards and Read are those of [Outbox].
	Shards() int
	Read(ctx context.Context, shard int, after Offset, limit int) ([]Item, error)
}

// NoteRestore writes into the history of maintenance that the live state or the log
// was made anew.
func (h *Handler) NoteRestore(ctx context.Context, what string, epoch, events int64, o Meta) (domain.Recorded, error) {
	h.complete(&o)
	at, err := h.Live.Setting(ctx, domain.HoldAudit, domain.AuditMaintenance)
	if err != nil {
		return domain.Recorded{}, err
	}
	c := Change{Token: at.Token}
	if c.Events, err = h.stamp(domain.DecideRestored(at.State, what, epoch, events).Events, "", o); err != nil {
		return domain.Recorded{}, err
	}
	after, err := domain.EvolveSetting(at.State, c.Events[0])
	if err != nil {
		return domain.Recorded{}, err
	}
	c.Setting = &Transition[domain.Setting]{From: at.State, To: after}
	_, err = h.commit(ctx, c, o)
	return c.Events[0], err
}
