package consistency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/projections"
)

// Keeper holds events that the log may have lost besides the tables: the outbox keeps
// them for a while after they were sent.
type Keeper interface {
	Shards() int
	Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error)
}

// PutBack tells which events were put back into the log, or would be.
type PutBack struct {
	Events int64
	// NewStream says that the log is another than the one that the tables follow.
	NewStream bool
	// Aligned says that every event stands where the tables have it, so that they can
	// go on; if not, they have to be made anew.
	Aligned bool
	// Missing are events that could not be put back, because one before them is
	// nowhere.
	Missing []string
}

// ErrClash says that the log and what is kept of it tell different things of one
// event: nothing was written.
var ErrClash = errors.New("the log holds another event under the same id")

// appendLimit is how many events go into the log at once.
const appendLimit = 500

// putter puts back what the log has lost.
type putter struct {
	log   eventstore.Log
	t     projections.Tables
	tell  func(Progress)
	write bool

	common uint64            // up to here log and tables hold the same
	moved  bool              // behind that they hold other events at the same places
	tail   map[string]string // id → command of what the log holds behind that
	kept   []domain.Recorded // of the outbox, in its order
	keptBy map[string]string // id → command
	last   map[domain.Aggregate]eventstore.LastEvent
	lost   map[domain.Aggregate]bool // something before their next event is missing
	queue  []eventstore.Append
	want   []uint64 // places that the tables have, 0 = none
	out    PutBack
}

// PutEventsBack brings into the log the events that the tables and the outbox have
// and the log has not, in their order, under their ids and versions and with the time
// at which the log took them first. Nobody else may write meanwhile. When log and
// copies clash it gives ErrClash and has written nothing. Without write it only tells.
func PutEventsBack(ctx context.Context, log eventstore.Log, db projections.DB, outbox Keeper, write bool, tell func(Progress)) (PutBack, error) {
	if tell == nil {
		tell = func(Progress) {}
	}
	p := &putter{log: log, t: projections.Tables{DB: db}, tell: tell, tail: map[string]string{}, keptBy: map[string]string{}}
	info, err := log.Info(ctx)
	if err != nil {
		return p.out, fmt.Errorf("read the log: %w", err)
	}
	at, err := p.t.Checkpoint(ctx)
	if err != nil {
		return p.out, err
	}
	p.out.NewStream = at.Stream != "" && (at.Stream != info.Name || !at.Created.Equal(info.Created.UTC().Truncate(time.Microsecond)))
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return p.prefix(ctx, info.Last) },
		func(ctx context.Context) error { return p.outbox(ctx, outbox) },
		p.run, // tells clashes, writes nothing
	} {
		if err := step(ctx); err != nil {
			return p.out, err
		}
	}
	if !write || p.out.Events == 0 {
		return p.out, nil
	}
	p.write = true
	return p.out, p.run(ctx)
}

// prefix finds how far log and tables hold the same, and what the log holds behind
// that.
func (p *putter) prefix(ctx context.Context, last uint64) error {
	if last == 0 {
		return nil
	}
	rows, same := pager{t: p.t, next: 1}, true
	for r, err := range p.log.Read(ctx, eventstore.ReadOptions{To: last}) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if r.Seq%1000 == 0 {
			p.tell(Progress{"reading the log", int(r.Seq), int(last)})
		}
		if same {
			row, ok, err := rows.peek(ctx)
			if err != nil {
				return err
			}
			switch {
			case !ok, row.Seq > int64(r.Seq): // the tables are behind, or hold it back
			case row.Seq == int64(r.Seq) && row.ID == r.ID() && row.Command == r.CommandID:
				rows.take()
				p.common = r.Seq
				continue
			default: // the log went on without what it had lost
				same, p.moved = false, true
			}
		}
		p.tail[r.ID()] = r.CommandID
	}
	return nil
}

// outbox reads what is kept of it.
func (p *putter) outbox(ctx context.Context, k Keeper) error {
	for shard := range k.Shards() {
		for after := (eventstore.Offset{}); ; {
			items, err := k.Read(ctx, shard, after, rowsAPage)
			if err != nil {
				return fmt.Errorf("read the outbox: %w", err)
			}
			for _, it := range items {
				after = it.Offset
				for _, e := range it.Events {
					p.kept = append(p.kept, e)
					p.keptBy[e.ID()] = e.CommandID
				}
			}
			if len(items) < rowsAPage {
				break
			}
		}
	}
	return nil
}

// run goes through everything that is kept, the tables first: what they have was in
// the log before what they have not.
func (p *putter) run(ctx context.Context) error {
	p.last, p.lost, p.out.Events, p.out.Missing, p.out.Aligned = map[domain.Aggregate]eventstore.LastEvent{}, map[domain.Aggregate]bool{}, 0, nil, !p.moved
	rows := pager{t: p.t, next: p.common + 1}
	for {
		row, ok, err := rows.peek(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		rows.take()
		e, err := eventOf(row)
		if err != nil {
			return err
		}
		if err := p.put(ctx, e, uint64(row.Seq)); err != nil {
			return err
		}
	}
	for _, e := range p.kept {
		if err := p.put(ctx, e, 0); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// put takes one event, if the log does not have it.
func (p *putter) put(ctx context.Context, e domain.Recorded, place uint64) error {
	a, id := e.Aggregate, e.ID()
	if command, there := p.tail[id]; there {
		return clash(e, command)
	}
	if command, kept := p.keptBy[id]; kept {
		if err := clash(e, command); err != nil {
			return err
		}
	}
	at, known := p.last[a]
	if !known {
		var err error
		if at, err = p.log.Last(ctx, a); err != nil {
			return err
		}
		p.last[a] = at
	}
	switch {
	case e.Version == at.Version:
		return clash(e, at.CommandID)
	case e.Version < at.Version:
		return nil
	case e.Version > at.Version+1, p.lost[a]:
		p.lost[a] = true
		p.out.Missing = append(p.out.Missing, id)
		p.out.Aligned = false
		return nil
	}
	p.out.Events++
	p.last[a] = eventstore.LastEvent{Version: e.Version, CommandID: e.CommandID}
	if p.write {
		p.queue, p.want = append(p.queue, eventstore.Append{Event: e, ExpectSeq: at.Seq, Stored: e.Stored}), append(p.want, place)
		if len(p.queue) >= appendLimit {
			return p.flush(ctx)
		}
	}
	return nil
}

func clash(e domain.Recorded, command string) error {
	if command == e.CommandID {
		return nil
	}
	return fmt.Errorf("%s was written by command %s, and by command %s: %w", e.ID(), command, e.CommandID, ErrClash)
}

// flush appends what has gathered. Within one append only the first event of an
// aggregate names what it follows.
func (p *putter) flush(ctx context.Context) error {
	if len(p.queue) == 0 {
		return nil
	}
	seqs, err := p.log.Append(ctx, p.queue)
	if err != nil {
		return err
	}
	for i, a := range p.queue {
		p.last[a.Event.Aggregate] = eventstore.LastEvent{Version: a.Event.Version, Seq: seqs[i], CommandID: a.Event.CommandID}
		p.out.Aligned = p.out.Aligned && (p.want[i] == 0 || p.want[i] == seqs[i])
	}
	p.tell(Progress{"putting events back", int(seqs[len(seqs)-1]), int(max(slices.Max(p.want), seqs[len(seqs)-1]))})
	p.queue, p.want = p.queue[:0], p.want[:0]
	return nil
}

// eventOf gives the event that a row of the history holds.
func eventOf(s projections.Stored) (domain.Recorded, error) {
	r := domain.Recorded{
		Event: domain.Event{Type: domain.EventType(s.Type), Aggregate: domain.Aggregate{Kind: domain.Kind(s.Kind), ID: s.Aggregate}, Version: s.Version},
		Time:  domain.At(s.Time), BatchID: domain.BatchID(s.BatchID), Actor: domain.Actor(s.Actor),
		CommandID: s.Command, CausationID: s.Causation, TraceParent: s.TraceCtx, Zxid: s.Zxid, Epoch: s.Epoch, Stored: s.At,
	}
	var err error
	if r.Data, err = codec.DecodeData(r.Event, s.Data); err != nil {
		return r, fmt.Errorf("event %d of the tables, %s: %w", s.Seq, s.ID, err)
	}
	return r, nil
}
