package consistency

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/projections/query"
)

// OutboxReader reads the outbox, which keeps events for a while after they were sent.
type OutboxReader interface {
	Shards() int
	Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error)
}

// LogRestored says which events were restored to the log, or would be.
type LogRestored struct {
	Events int64
	// NewStream says that the log is not the one that the tables follow.
	NewStream bool
	// Aligned says that every event has the sequence that it has in the tables, so that
	// they can go on; if not, they have to be rebuilt.
	Aligned bool
	// Missing are events that could not be restored, because one before them is
	// nowhere.
	Missing []string
}

// ErrClash says that the log and the copies hold different events under one id:
// nothing was written.
var ErrClash = errors.New("the log holds another event under the same id")

// appendLimit is how many events are appended at once.
const appendLimit = 500

// Copies are where events may be that the log has lost.
type Copies struct {
	DB     query.DB
	Outbox OutboxReader
}

// logRestorer restores what the log has lost.
type logRestorer struct {
	log      eventstore.Log
	tables   query.Tables
	progress ProgressFunc
	write    bool

	common     uint64            // up to here log and tables hold the same
	moved      bool              // behind that they hold different events under the same sequences
	tail       map[string]string // id → command of what the log holds behind that
	kept       []domain.Recorded // in the outbox, in its order
	keptBy     map[string]string // id → command
	last       map[domain.Aggregate]eventstore.LastEvent
	incomplete map[domain.Aggregate]bool // an event before their next one is missing
	queue      []eventstore.Append
	want       []uint64 // sequences in the tables, 0 = none
	out        LogRestored
}

// RestoreLog appends to the log the events that the tables and the outbox have and
// the log has not, in their order, under their ids and versions and with the time at
// which the log stored them first. No other process may write meanwhile. When log and
// copies clash it returns ErrClash and has written nothing. Without write it writes
// nothing and returns what would be done.
func RestoreLog(ctx context.Context, log eventstore.Log, from Copies, write bool, progress ProgressFunc) (LogRestored, error) {
	p := &logRestorer{log: log, tables: query.Tables{DB: from.DB}, progress: progress, tail: map[string]string{}, keptBy: map[string]string{}}
	info, err := log.Info(ctx)
	if err != nil {
		return p.out, fmt.Errorf("read the log: %w", err)
	}
	at, err := p.tables.Checkpoint(ctx)
	if err != nil {
		return p.out, err
	}
	p.out.NewStream = !follows(at, info.Name, info.Created)
	if err := p.prefix(ctx, info.Last); err != nil {
		return p.out, err
	}
	if err := p.outbox(ctx, from.Outbox); err != nil {
		return p.out, err
	}
	if err := p.run(ctx); err != nil || !write || p.out.Events == 0 { // finds clashes, writes nothing
		return p.out, err
	}
	p.write = true
	return p.out, p.run(ctx)
}

// SaveOlder reports whether the live state is an older copy, and then saves its outbox as
// SaveOutbox does. It returns an [*Older] if the log is older.
func SaveOlder(ctx context.Context, o Opening, outbox OutboxReader) (older bool, lost []string, err error) {
	var why *Older
	if err := o.CheckLive(ctx); !errors.As(err, &why) || why.Code == LogOlder {
		return false, nil, err
	}
	lost, err = SaveOutbox(ctx, o.Log, outbox)
	return true, lost, err
}

// SaveOutbox appends to the log what waits in the outbox of a live state that is an older
// copy and is about to be replaced. What does not fit the log, because its aggregate
// has gone on since the copy was made, is returned.
func SaveOutbox(ctx context.Context, log eventstore.Log, outbox OutboxReader) (lost []string, err error) {
	p := &logRestorer{log: log, tail: map[string]string{}, keptBy: map[string]string{}, last: map[domain.Aggregate]eventstore.LastEvent{}, incomplete: map[domain.Aggregate]bool{}, write: true}
	if err := p.outbox(ctx, outbox); err != nil {
		return nil, err
	}
	for _, e := range p.kept {
		err := p.restore(ctx, e, 0)
		if errors.Is(err, ErrClash) {
			lost, err = append(lost, e.ID()), nil
			p.incomplete[e.Aggregate] = true
		}
		if err != nil {
			return lost, err
		}
	}
	return append(lost, p.out.Missing...), p.flush(ctx)
}

// prefix finds how far log and tables hold the same, and what the log holds behind
// that.
func (p *logRestorer) prefix(ctx context.Context, last uint64) error {
	next, stop := iter.Pull2(eventRows(ctx, p.tables, 1))
	defer stop()
	row, rowErr, more := next()
	for r, err := range readLog(ctx, p.log, last, p.progress, "reading the log") {
		if err := errors.Join(err, rowErr); err != nil {
			return err
		}
		switch {
		case p.moved, !more, row.Seq > int64(r.Seq): // the tables are behind, or hold it back
		case row.Seq == int64(r.Seq) && row.ID == r.ID() && row.Command == r.CommandID:
			p.common = r.Seq
			row, rowErr, more = next()
			continue
		default: // the log went on without what it had lost
			p.moved = true
		}
		p.tail[r.ID()] = r.CommandID
	}
	return nil
}

// outbox reads what the outbox keeps.
func (p *logRestorer) outbox(ctx context.Context, o OutboxReader) error {
	for shard := range o.Shards() {
		for after := (eventstore.Offset{}); ; {
			items, err := o.Read(ctx, shard, after, rowsAPage)
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

// run takes all copies, the tables' first: what they have was in the log before what
// they have not.
func (p *logRestorer) run(ctx context.Context) error {
	p.last, p.incomplete, p.out.Events, p.out.Missing, p.out.Aligned = map[domain.Aggregate]eventstore.LastEvent{}, map[domain.Aggregate]bool{}, 0, nil, !p.moved
	for row, err := range eventRows(ctx, p.tables, p.common+1) {
		if err != nil {
			return err
		}
		e, err := eventOf(row)
		if err != nil {
			return err
		}
		if err := p.restore(ctx, e, uint64(row.Seq)); err != nil {
			return err
		}
	}
	for _, e := range p.kept {
		if err := p.restore(ctx, e, 0); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// restore takes one event, if the log does not have it. seq is its sequence in the
// tables, 0 = none.
func (p *logRestorer) restore(ctx context.Context, e domain.Recorded, seq uint64) (err error) {
	a, id := e.Aggregate, e.ID()
	if command, there := p.tail[id]; there {
		return clash(e, command)
	}
	if command, kept := p.keptBy[id]; kept && command != e.CommandID {
		return clash(e, command)
	}
	at, known := p.last[a]
	if !known {
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
	case e.Version > at.Version+1, p.incomplete[a]:
		p.incomplete[a] = true
		p.out.Missing = append(p.out.Missing, id)
		p.out.Aligned = false
		return nil
	}
	p.out.Events++
	p.last[a] = eventstore.LastEvent{Version: e.Version, CommandID: e.CommandID}
	if p.write {
		p.queue, p.want = append(p.queue, eventstore.Append{Event: e, ExpectSeq: at.Seq, Stored: e.Stored}), append(p.want, seq)
	}
	if len(p.queue) < appendLimit {
		return nil
	}
	return p.flush(ctx)
}

// clash returns ErrClash unless the command is the event's own.
func clash(e domain.Recorded, command string) error {
	if command == e.CommandID {
		return nil
	}
	return fmt.Errorf("%s was written by command %s, and by command %s: %w", e.ID(), command, e.CommandID, ErrClash)
}

// flush appends the queue. Within one append only the first event of an aggregate
// names what it follows.
func (p *logRestorer) flush(ctx context.Context) error {
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
	last := seqs[len(seqs)-1]
	p.progress.Report("restoring events", int(last), int(max(slices.Max(p.want), last)))
	p.queue, p.want = p.queue[:0], p.want[:0]
	return nil
}

// eventOf returns the event that a row of the history holds.
func eventOf(s query.Stored) (r domain.Recorded, err error) {
	r = domain.Recorded{
		Event: domain.Event{Type: domain.EventType(s.Type), Aggregate: domain.Aggregate{Kind: domain.Kind(s.Kind), ID: s.Aggregate}, Version: s.Version},
		Time:  domain.At(s.Time), BatchID: domain.BatchID(s.BatchID), Actor: domain.Actor(s.Actor),
		CommandID: s.Command, CausationID: s.Causation, TraceParent: s.TraceCtx, Zxid: s.Zxid, Epoch: s.Epoch, Stored: s.At,
	}
	if r.Data, err = codec.DecodeData(r.Event, s.Data); err != nil {
		err = fmt.Errorf("event %d of the tables, %s: %w", s.Seq, s.ID, err)
	}
	return r, err
}

// eventRows reads the history in the tables page by page.
func eventRows(ctx context.Context, t query.Tables, from uint64) iter.Seq2[query.Stored, error] {
	return func(yield func(query.Stored, error) bool) {
		for {
			rows, err := t.Events(ctx, from, rowsAPage)
			if err != nil {
				yield(query.Stored{}, err)
				return
			}
			for _, row := range rows {
				from = uint64(row.Seq) + 1
				if !yield(row, nil) {
					return
				}
			}
			if len(rows) < rowsAPage {
				return
			}
		}
	}
}
