package consistency

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/accession-ingest/accession/domain/highwater"
	"github.com/accession-ingest/accession/eventstore"
)

// HighWater keeps the marks of an installation, by which a server with an older copy of
// its data is noticed. A mark is kept in rounds, in this order: begun in the records, in
// the object store, in the live state, done in the records. So no copy is ever behind
// the one after it, and no round begins before the last one is done, wherever a process
// dies.
type HighWater struct {
	Records HighWaterRecords // nil = they cannot be asked
	Store   HighWaterStore   // nil = it cannot be asked
	Live    HighWaterLive    // nil = there are no marks
}

// HighWaterRecords are the records; see record.Records.
type HighWaterRecords interface {
	HighWater(ctx context.Context) (done highwater.Mark, begun int64, err error)
	BeginHighWater(ctx context.Context, round int64) error
	EndHighWater(ctx context.Context, m highwater.Mark) error
}

// HighWaterStore is the object store; see store.Store.
type HighWaterStore interface {
	HighWater(ctx context.Context) (highwater.Mark, error)
	KeepHighWater(ctx context.Context, m highwater.Mark) error
}

// HighWaterLive is the live state; see zklive.Store.
type HighWaterLive interface {
	HighWater(ctx context.Context) (round, epoch int64, err error)
	RaiseHighWater(ctx context.Context, round int64) error
}

// rounds are the last rounds of the copies, in the order in which they were read: others
// may make rounds meanwhile, and a copy is compared only with what was read of the
// others before it.
type rounds struct {
	done, begun int64 // in the records
	liveBefore  int64
	store       int64
	live        int64
	begunAfter  int64 // in the records
}

func (r rounds) highest() int64 { return max(r.done, r.begun, r.store, r.live) }

// recordsBehind, storeBehind and liveBehind report whether a copy lacks a round that
// another has.
func (r rounds) recordsBehind() bool { return r.begunAfter < max(r.store, r.live) }
func (r rounds) storeBehind() bool   { return r.store < max(r.liveBefore, r.done, r.begun-1) }
func (r rounds) liveBehind() bool    { return r.live < max(r.done, r.begun-1, r.store-1) }

// waterRead is what is known from the marks.
type waterRead struct {
	rounds
	mark  highwater.Mark // the latest
	epoch int64          // of the live state, now
}

// read reads the marks.
func (w HighWater) read(ctx context.Context) (r waterRead, err error) {
	r.begunAfter = math.MaxInt64
	if w.Live == nil {
		return r, nil
	}
	if w.Records != nil {
		if r.mark, r.begun, err = w.Records.HighWater(ctx); err != nil {
			return r, err
		}
		r.done = r.mark.Round
	}
	if r.liveBefore, _, err = w.Live.HighWater(ctx); err != nil {
		return r, err
	}
	r.store = max(r.liveBefore, r.done, r.begun-1) // what it has at least
	if w.Store != nil {
		m, err := w.Store.HighWater(ctx)
		if err != nil {
			return r, err
		}
		r.store = m.Round
		if m.Round > r.mark.Round {
			r.mark = m
		}
	}
	if r.live, r.epoch, err = w.Live.HighWater(ctx); err != nil {
		return r, err
	}
	if w.Records != nil {
		_, r.begunAfter, err = w.Records.HighWater(ctx)
	}
	return r, err
}

// Restored raises the ids and the epoch of what a live state is restored from above the
// latest mark, and sets its round so that an older copy of another server stays noticed.
func (w HighWater) Restored(ctx context.Context, h *eventstore.History) error {
	r, err := w.read(ctx)
	h.HighWater, h.Epoch = max(r.store, r.done), max(h.Epoch, r.mark.Epoch)
	h.NextBatch, h.NextJob = max(h.NextBatch, r.mark.Batch.Number()+1), max(h.NextJob, r.mark.Job.Number()+1)
	return err
}

// Short returns how many events a log has less than the latest mark has seen of it, 0 = none.
func (w HighWater) Short(ctx context.Context, last uint64) (uint64, error) {
	r, err := w.read(ctx)
	return r.mark.LogSeq - min(last, r.mark.LogSeq), err
}

// Check returns an [*Older] if a server has an older copy of its data, as far as the marks
// tell, and an error if one of them cannot be asked.
func (w HighWater) Check(ctx context.Context) error {
	if w.Live == nil || w.Records == nil || w.Store == nil {
		return errNoMarks
	}
	r, err := w.read(ctx)
	if err != nil {
		return err
	}
	return r.check()
}

var errNoMarks = errors.New("PostgreSQL or the object store do not answer")

// check returns an [*Older] if the live state, the records or the object store is older.
func (r waterRead) check() error {
	if err := r.checkLive(false, 0); err != nil {
		return err
	}
	if all := r.others(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// checkLive returns an [*Older] if the live state or the log is older than the latest
// mark. last is the log's last sequence.
func (r waterRead) checkLive(log bool, last uint64) error {
	switch {
	case r.liveBehind():
		return &Older{TreeOlder, fmt.Sprintf("the live state in ZooKeeper is an older copy: it has seen round %d of the high-water marks, and the records or the object store have seen round %d", r.live, r.highest())}
	case r.epoch < r.mark.Epoch:
		return &Older{TreeOlder, fmt.Sprintf("the live state in ZooKeeper is an older copy: it is of epoch %d, and the high-water mark of epoch %d", r.epoch, r.mark.Epoch)}
	case log && r.epoch == r.mark.Epoch && last < r.mark.LogSeq:
		return &Older{LogOlder, fmt.Sprintf("the log ends at sequence %d, and the high-water mark has seen it at %d: the log lost its end, or is an older copy", last, r.mark.LogSeq)}
	}
	return nil
}

// others returns an [*Older] for each of the records and the object store that is older.
func (r waterRead) others() (all []*Older) {
	if r.recordsBehind() {
		all = append(all, &Older{RecordsOlder, fmt.Sprintf("schema record in PostgreSQL is an older copy: it has seen round %d of the high-water marks, and ZooKeeper or the object store have seen round %d", r.begunAfter, r.highest())})
	}
	if r.storeBehind() {
		all = append(all, &Older{StoreOlder, fmt.Sprintf("the object store is an older copy: it has seen round %d of the high-water marks, and PostgreSQL or ZooKeeper have seen round %d", r.store, r.highest())})
	}
	return all
}

// Raise makes a round, unless nothing has changed since the last one. now is read before:
// a mark never says more than what was there. The error is an [*Older] if a server was
// put back to an older copy meanwhile; then no mark is made, which would hide it.
func (w HighWater) Raise(ctx context.Context, now highwater.Mark) error {
	r, err := w.read(ctx)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	done, begun, err := w.Records.HighWater(ctx)
	now.Round = done.Round
	if err != nil || begun == done.Round && now == done {
		return err
	}
	now.Round = max(begun, done.Round+1)
	return w.round(ctx, now)
}

// accept makes a round above all others: what is older is taken as it is from now on.
func (w HighWater) accept(ctx context.Context) error {
	if w.Records == nil || w.Store == nil {
		return errNoMarks
	}
	r, err := w.read(ctx)
	if err != nil {
		return err
	}
	r.mark.Round = r.highest() + 1
	return w.round(ctx, r.mark)
}

func (w HighWater) round(ctx context.Context, m highwater.Mark) error {
	if err := w.Records.BeginHighWater(ctx, m.Round); err != nil {
		return err
	}
	if err := w.Store.KeepHighWater(ctx, m); err != nil {
		return err
	}
	if err := w.Live.RaiseHighWater(ctx, m.Round); err != nil {
		return err
	}
	return w.Records.EndHighWater(ctx, m)
}
