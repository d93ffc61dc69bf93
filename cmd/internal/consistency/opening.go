package consistency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Opening has the servers of an installation, to be compared before a process writes:
// one of them may have been put back to an older copy of its data.
type Opening struct {
	Live Live
	Log  eventstore.Log // nil = it does not answer
	// Used returns the highest ids that are known outside of the live state, "" = none;
	// nil = they cannot be asked.
	Used func(ctx context.Context) (domain.BatchID, domain.JobID, error)
	// HighWater has the marks of the installation.
	HighWater HighWater
}

// Older is the error for a server whose data is older than what the others have seen
// of it.
type Older struct {
	Code domain.Code // [TreeOlder], [LogOlder], [IDsLow], [RecordsOlder] or [StoreOlder]
	Why  string
}

// Error implements error.
func (e *Older) Error() string { return e.Why }

const (
	// copyWindow is how many events at the end of the log are compared with the live
	// state. If none of them is of the live state, as many before them are.
	copyWindow = 2000
	// copySubjects is how many batches, jobs and settings are compared.
	copySubjects = 64
)

// Check returns an [*Older] if a server has an older copy of its data, or the next ids
// are not above those in use: the first of them in the order in which they are repaired.
// It reads what others know before it reads the live state, which is never behind them
// while it is the right one.
func (o Opening) Check(ctx context.Context) error {
	water, err := o.HighWater.read(ctx)
	if err != nil {
		return err
	}
	if err := o.checkLive(ctx, water); err != nil {
		return err
	}
	if all := water.others(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// CheckLive is Check for the live state, the log and the next ids.
func (o Opening) CheckLive(ctx context.Context) error {
	water, err := o.HighWater.read(ctx)
	if err != nil {
		return err
	}
	return o.checkLive(ctx, water)
}

func (o Opening) checkLive(ctx context.Context, water waterRead) error {
	seen, err := o.seen(ctx)
	if err != nil {
		return err
	}
	used := highestIDs{batch: water.mark.Batch, job: water.mark.Job}
	if o.Used != nil {
		batch, job, err := o.Used(ctx)
		if err != nil {
			return err
		}
		used.batch, used.job = max(used.batch, batch), max(used.job, job)
	}
	var last uint64
	if o.Log != nil {
		tail, end, err := o.tail(ctx, seen)
		if err != nil {
			return err
		}
		if err := o.tree(ctx, tail); err != nil {
			return err
		}
		for _, r := range tail {
			used.meet(r)
		}
		last = end
	}
	if err := water.checkLive(o.Log != nil, last); err != nil {
		return err
	}
	return used.below(ctx, o.Live)
}

// seenLog is the mark with the latest sequence of the log. It is not known while the
// marks are those of an older program.
type seenLog struct {
	eventstore.Mark
	known bool
}

// seen reads the marks.
func (o Opening) seen(ctx context.Context) (latest seenLog, err error) {
	moved := false
	for shard := range o.Live.Shards() {
		m, err := o.Live.Mark(ctx, shard)
		if err != nil {
			return latest, fmt.Errorf("read the marks of the outbox: %w", err)
		}
		moved = moved || m.LogSeq == 0 && m.Seq >= 0
		if m.LogSeq > latest.LogSeq {
			latest.Mark = m
		}
	}
	latest.known = latest.LogSeq > 0 || !moved
	return latest, nil
}

// tail returns the events of the live state at the end of the log that no mark covers,
// the latest first, and its last sequence. It returns an [*Older] for a log that ends
// before what a mark has seen of it, or has another event there.
func (o Opening) tail(ctx context.Context, seen seenLog) (_ []domain.Recorded, last uint64, err error) {
	info, err := o.Log.Info(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the log: %w", err)
	}
	if info.Last < seen.LogSeq {
		return nil, 0, &Older{LogOlder, fmt.Sprintf("the log %s ends at sequence %d, and the outbox in ZooKeeper has seen it at %d: the log lost its end, or is an older copy", info.Name, info.Last, seen.LogSeq)}
	}
	if seen.LogSeq > 0 {
		at, err := o.read(ctx, seen.LogSeq, seen.LogSeq)
		if err != nil {
			return nil, 0, err
		}
		if len(at) == 1 && at[0].ID() != seen.Event {
			return nil, 0, &Older{LogOlder, fmt.Sprintf("the log %s has %s at sequence %d, where the outbox in ZooKeeper has seen %s: it is another log, or an older copy that was written to", info.Name, at[0].ID(), seen.LogSeq, seen.Event)}
		}
	}
	if !seen.known {
		return nil, info.Last, nil
	}
	for to := info.Last; to > seen.LogSeq; {
		from := max(seen.LogSeq, to-min(to, copyWindow)) + 1
		all, err := o.read(ctx, from, to)
		if err != nil {
			return nil, 0, err
		}
		all = slices.DeleteFunc(all, func(r domain.Recorded) bool { return r.Aggregate.Kind.OfLog() })
		if len(all) > 0 {
			slices.Reverse(all)
			return all, info.Last, nil
		}
		to = from - 1
	}
	return nil, info.Last, nil
}

// read reads a part of the log, up to an event that cannot be decoded.
func (o Opening) read(ctx context.Context, from, to uint64) (all []domain.Recorded, err error) {
	for r, err := range o.Log.Read(ctx, eventstore.ReadOptions{From: from, To: to}) {
		if errors.Is(err, eventstore.ErrBroken) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		all = append(all, r)
	}
	return all, nil
}

// tree returns an [*Older] if the live state lacks one of these events: it has an older
// version of their aggregate, and the event does not wait in the outbox either, where it
// stays until a mark covers it.
func (o Opening) tree(ctx context.Context, tail []domain.Recorded) error {
	asked := map[domain.Aggregate]bool{}
	for _, r := range tail {
		if asked[r.Aggregate] || len(asked) >= copySubjects {
			continue
		}
		asked[r.Aggregate] = true
		why, err := o.lacks(ctx, r)
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		waits, err := o.waits(ctx, r)
		if err != nil {
			return err
		}
		if !waits {
			return &Older{TreeOlder, fmt.Sprintf("the live state in ZooKeeper is an older copy: the log has %s at sequence %d, and ZooKeeper has %s", r.ID(), r.Seq, why)}
		}
	}
	return nil
}

// lacks returns what the live state has instead of an event, "" = it has the event, or
// what is there cannot be read.
func (o Opening) lacks(ctx context.Context, r domain.Recorded) (why string, err error) {
	var version int64
	var command string
	a := r.Aggregate
	switch a.Kind {
	case domain.KindBatch:
		var at eventstore.Loaded[domain.Batch]
		at, err = o.Live.Batch(ctx, domain.BatchID(a.ID))
		version, command = at.State.Version, at.State.CommandID
	case domain.KindJob:
		var at eventstore.Loaded[domain.Job]
		at, err = o.Live.Job(ctx, domain.JobID(a.ID))
		version, command = at.State.Version, at.State.CommandID
	case domain.KindQuery, domain.KindEntry:
		return "", nil // it may have left the live state
	default:
		s := settings.zero(a)
		var at eventstore.Loaded[domain.Setting]
		at, err = o.Live.Setting(ctx, s.Kind, s.Name)
		version = at.State.Version
	}
	var refused *domain.Refused
	switch {
	case errors.Is(err, eventstore.ErrBroken), errors.As(err, &refused):
		return "", nil // damaged, which verify finds
	case errors.Is(err, eventstore.ErrNotFound):
		gone, err := o.gone(ctx, r)
		if err != nil || gone {
			return "", err
		}
		return "no " + a.String(), nil
	case err != nil:
		return "", err
	case version < r.Version:
		return fmt.Sprintf("version %d of it", version), nil
	case version == r.Version && command != "" && command != r.CommandID:
		return "this version by another command, " + command, nil
	}
	return "", nil
}

// gone reports whether the log says that an aggregate has left the live state: it was
// deleted, or its batch was.
func (o Opening) gone(ctx context.Context, r domain.Recorded) (bool, error) {
	for _, a := range []domain.Aggregate{r.Aggregate, r.BatchID.Aggregate()} {
		last, err := o.Log.Last(ctx, a)
		if err != nil || last.Seq == 0 {
			return false, err
		}
		at, err := o.read(ctx, last.Seq, last.Seq)
		if err != nil {
			return false, err
		}
		if len(at) == 1 && slices.Contains([]domain.EventType{domain.EventBatchDeleted, domain.EventBatchCleaned, domain.EventJobDeleted}, at[0].Type) {
			return true, nil
		}
	}
	return false, nil
}

// waits reports whether an event waits in the outbox, or a mark covers it by now.
func (o Opening) waits(ctx context.Context, r domain.Recorded) (bool, error) {
	for e, err := range Unsent(ctx, o.Live) {
		if err != nil {
			return false, err
		}
		if e.ID() == r.ID() && e.CommandID == r.CommandID {
			return true, nil
		}
	}
	seen, err := o.seen(ctx)
	return seen.LogSeq >= r.Seq, err
}

// highestIDs are ids in use, "" = none.
type highestIDs struct {
	batch domain.BatchID
	job   domain.JobID
	query domain.QueryID
	entry compute.ID
}

// meet takes the ids that an event names.
func (h *highestIDs) meet(r domain.Recorded) {
	h.batch = max(h.batch, r.BatchID)
	if r.Aggregate.Kind == domain.KindJob {
		h.job = max(h.job, domain.JobID(r.Aggregate.ID))
	}
	if r.Aggregate.Kind == domain.KindQuery {
		h.query = max(h.query, domain.QueryID(r.Aggregate.ID))
	}
	if r.Aggregate.Kind == domain.KindEntry {
		h.entry = max(h.entry, compute.ID(r.Aggregate.ID))
	}
	if m, ok := domain.MoveOfFile(r.Data); ok { // its job's own events may be lost
		h.job = max(h.job, m.JobID)
	}
	if d, ok := r.Data.(*domain.BatchListed); ok { // reserved, if not all made
		h.job = max(h.job, d.Listing.FirstJID.Plus(d.Listing.Rows-1))
	}
}

// below returns an [*Older] unless all of them are below the next ids.
func (h highestIDs) below(ctx context.Context, next IDs) error {
	at, err := next.NextIDs(ctx)
	if err != nil {
		return err
	}
	low := func(node string, next int64, used string) error {
		return &Older{IDsLow, fmt.Sprintf("%s in ZooKeeper is %d, and %s is in use: it was lowered, or ZooKeeper has an older copy", node, next, used)}
	}
	switch {
	case at.Batch <= h.batch.Number():
		return low("/ids/bid", at.Batch, string(h.batch))
	case at.Job <= h.job.Number():
		return low("/ids/jid", at.Job, string(h.job))
	case at.Query <= h.query.Number():
		return low("/ids/query", at.Query, string(h.query))
	case at.Entry <= h.entry.Sequence():
		return low("/ids/entry", at.Entry, string(h.entry))
	}
	return nil
}

// IDGap is left above the highest known id when ids are raised: those that were only
// reserved, or whose events were lost, are not used again.
const IDGap = 10_000

// copies looks for a server that is an older copy.
func (c *checker) copies(ctx context.Context) error {
	if c.Used != nil {
		var err error
		if c.highest.batch, c.highest.job, err = c.Used(ctx); err != nil {
			return err
		}
	}
	water, err := c.HighWater.read(ctx)
	if err != nil {
		return err
	}
	c.highest.batch, c.highest.job = max(c.highest.batch, water.mark.Batch), max(c.highest.job, water.mark.Job)
	all := water.others()
	var older *Older
	if err := (Opening{Live: c.Live, Log: c.Log}).checkLive(ctx, water); errors.As(err, &older) {
		all = append(all, older)
	} else if err != nil {
		return err
	}
	for _, o := range all {
		if o.Code == IDsLow { // compared when all of them are known
			continue
		}
		f := finding(o.Code, "", "", "the newest copy", o.Why)
		if f.Severity == Repairable {
			f.repair = c.HighWater.accept
		}
		c.report(f)
	}
	return nil
}

// ids compares the next ids with those in use, which a repair raises.
func (c *checker) ids(ctx context.Context) error {
	var low *Older
	err := c.highest.below(ctx, c.Live)
	if !errors.As(err, &low) {
		return err
	}
	h := c.highest
	f := finding(IDsLow, "", "/ids", fmt.Sprintf("above %s, %s, %s and %s", cmp.Or(h.batch, "no batch"), cmp.Or(h.job, "no job"), cmp.Or(h.query, "no query"), cmp.Or(h.entry, "no entry")), low.Why)
	above := func(highest int64) int64 { return min(highest+1+IDGap, domain.MaxID+1) }
	f.repair = func(ctx context.Context) error {
		return c.Live.RaiseIDs(context.WithoutCancel(ctx), eventstore.Numbers{Batch: above(h.batch.Number()), Job: above(h.job.Number()), Query: above(h.query.Number()), Entry: above(h.entry.Sequence())})
	}
	c.report(f)
	return nil
}
