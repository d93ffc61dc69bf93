package consistency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// kind is how aggregates of one kind are compared with the live state.
type kind[S any] struct {
	zero    S
	version func(S) int64
	batch   func(S) domain.BatchID // of a job, "" = it has none, or it is not known
	evolve  func(S, domain.Recorded) (S, error)
	inspect func(ctx context.Context) (eventstore.Observed, error)
	draw    func(S, eventstore.Observed) eventstore.Nodes
}

// verdict is what was found about one aggregate: what it should be, what lay there,
// and how they differ.
type verdict[S any] struct {
	want     S
	look     eventstore.Observed
	findings []Finding
}

// judge compares one aggregate with the log at the version that the live state has.
// known is what the log said before; what is ahead of the log, or not in it, is
// waited for.
func judge[S any](ctx context.Context, c *checker, a domain.Aggregate, k kind[S], known S) (v verdict[S], err error) {
	wait := c.patient()
	batch := k.batch(known)
	for {
		if v.look, err = k.inspect(ctx); err != nil {
			return v, fmt.Errorf("look at %s: %w", a, err)
		}
		v.want = known
		settled, unknown, behind, unsent := v.look.Version > 0 && v.look.Version == k.version(known), false, false, 0
		if !settled {
			// Whoever sees the outbox empty now finds in the log whatever was written
			// before the look.
			if unsent, err = c.Live.UnsentOf(ctx, a, batch); err != nil {
				return v, err
			}
			events, err := c.history(ctx, a)
			if err != nil {
				return v, err
			}
			head := int64(len(events))
			if v.want, err = foldTo(k.zero, k.evolve, events, v.look.Version); err != nil {
				return v, nil //nolint:nilerr // told as a broken history
			}
			if now := k.batch(v.want); now != batch { // where its events wait is known now
				batch = now
				continue
			}
			switch {
			case v.look.Version > head, v.look.Version == 0:
				if v.look.Version == 0 && len(k.draw(v.want, v.look)) == 0 && len(v.look.Nodes) == 0 {
					return v, nil // it is gone, and should be
				}
				if unsent > 0 && wait.wait(ctx) {
					continue
				}
				if ctx.Err() != nil {
					return v, ctx.Err()
				}
				if v.look.Version > head && head > 0 {
					v.findings = []Finding{finding(NotInLog, a.String(), "", fmt.Sprintf("version %d, the last in the log", head), fmt.Sprintf("version %d", v.look.Version))}
					return v, nil
				}
				unknown = head == 0
			case v.look.Version < head:
				// The log moved after the look, or the tree is behind it.
				before := v.look.Version
				if err := c.Live.Sync(ctx); err != nil {
					return v, err
				}
				if v.look, err = k.inspect(ctx); err != nil {
					return v, err
				}
				if v.look.Version != before || unsent > 0 && wait.wait(ctx) {
					continue
				}
				if ctx.Err() != nil {
					return v, ctx.Err()
				}
				behind = true
				if v.want, err = foldTo(k.zero, k.evolve, events, 0); err != nil {
					return v, nil //nolint:nilerr // told as a broken history
				}
			default:
				unsent = 0 // those of others
			}
		}
		if unknown {
			v.findings = []Finding{finding(UnknownThere, a.String(), "", absent, strings.Join(slices.Sorted(maps.Keys(v.look.Nodes)), " "))}
			return v, nil
		}
		want := k.draw(v.want, v.look)
		v.findings = compare(a, want, v.look.Nodes, behind)
		if l := v.look.Lock; l != nil && !l.Alive {
			v.findings = append(v.findings, finding(LockStale, a.String(), l.Node, "a worker that lives", "worker "+l.Holder))
		}
		if len(want) > 0 { // nothing follows a deletion
			v.findings = tooEarly(a, v.findings, unsent)
		}
		return v, nil
	}
}

// tooEarly withholds repairs as long as events may be on their way: drawn without
// them, an aggregate would have two histories, and the log would take one of them.
func tooEarly(a domain.Aggregate, found []Finding, unsent int) []Finding {
	if unsent == 0 || len(found) == 0 {
		return found
	}
	return []Finding{finding(DamagedUnsent, a.String(), found[0].Where, "all of its events in the log",
		fmt.Sprintf("%d nodes of the outbox still to be carried there, and %s", unsent, found[0].Code))}
}

// compare names the nodes that differ.
func compare(a domain.Aggregate, want, got eventstore.Nodes, behind bool) []Finding {
	var all []Finding
	add := func(code domain.Code, node, w, g string) {
		all = append(all, finding(code, a.String(), node, w, g))
	}
	if len(got) == 0 && len(want) > 0 && a.Kind != domain.KindSetting {
		code := JobMissing
		if a.Kind == domain.KindBatch {
			code = BatchMissing
		}
		add(code, "", strings.Join(slices.Sorted(maps.Keys(want)), " "), absent)
		return all
	}
	nodes := slices.Collect(maps.Keys(want))
	for node := range got {
		if _, both := want[node]; !both {
			nodes = append(nodes, node)
		}
	}
	sort.Strings(nodes)
	for _, node := range nodes {
		w, wanted := want[node]
		g, there := got[node]
		switch {
		case !there:
			add(codeOf(a, node, "missing", got), node, cmpOr(w, "it"), absent)
		case !wanted:
			add(codeOf(a, node, "extra", got), node, absent, cmpOr(g, "it"))
		case w != g && plain([]byte(w)) != plain([]byte(g)):
			w, g = narrow(plain([]byte(w)), plain([]byte(g)))
			add(codeOf(a, node, "wrong", got), node, cmpOr(w, "no data"), cmpOr(g, "no data"))
		}
	}
	if behind {
		for i := range all {
			all[i] = finding(TreeBehind, a.String(), all[i].Where, all[i].Want, all[i].Got)
		}
	}
	return all
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// codeOf names a difference of a node.
func codeOf(a domain.Aggregate, node, how string, got eventstore.Nodes) domain.Code {
	_, status := got["/jobs/"+a.ID+"/status"]
	switch {
	case a.Kind == domain.KindSetting:
		return SettingWrong
	case strings.HasPrefix(node, "/jobs/states/"):
		return map[string]domain.Code{"missing": QueueEntryMissing, "extra": pick(status, QueueEntryWrong, QueueEntryOrphan)}[how]
	case strings.HasPrefix(node, "/space/"):
		return map[string]domain.Code{"missing": PromiseMissing, "extra": PromiseOrphan, "wrong": PromiseWrong}[how]
	case a.Kind == domain.KindJob && strings.HasPrefix(node, "/batches/"):
		return map[string]domain.Code{"missing": ReferenceMissing, "extra": pick(status, ReferenceWrong, ReferenceOrphan)}[how]
	case strings.HasSuffix(node, "/status"):
		return map[string]domain.Code{"missing": StatusMissing, "extra": NodeUnknown, "wrong": StatusWrong}[how]
	}
	return map[string]domain.Code{"missing": NodeMissing, "extra": NodeUnknown, "wrong": NodeWrong}[how]
}

func pick(first bool, a, b domain.Code) domain.Code {
	if first {
		return a
	}
	return b
}

func (c *checker) jobKind(id domain.JobID) kind[domain.Job] {
	also := slices.Concat(c.survey.Entries[id], c.survey.Refs[id], c.survey.Promises[id])
	return kind[domain.Job]{
		zero: domain.Job{ID: id}, version: func(j domain.Job) int64 { return j.Version }, evolve: domain.EvolveJob,
		batch:   func(j domain.Job) domain.BatchID { return j.Configuration.BatchID },
		inspect: func(ctx context.Context) (eventstore.Observed, error) { return c.Live.InspectJob(ctx, id, also...) },
		draw:    func(j domain.Job, _ eventstore.Observed) eventstore.Nodes { return c.Live.ExpectedJob(j) },
	}
}

// job compares a job. Those of a batch that is being cleaned up go without events.
func (c *checker) job(ctx context.Context, known domain.Job) ([]Finding, error) {
	v, err := c.judgeJob(ctx, known)
	return v.findings, err
}

func (c *checker) judgeJob(ctx context.Context, known domain.Job) (verdict[domain.Job], error) {
	v, err := judge(ctx, c, known.ID.Aggregate(), c.jobKind(known.ID), known)
	if err != nil || len(v.findings) == 0 || v.want.Version == 0 {
		return v, err
	}
	id := v.want.Configuration.BatchID
	events, err := c.history(ctx, id.Aggregate())
	if err != nil {
		return v, err
	}
	b, err := foldTo(domain.Batch{}, domain.EvolveBatch, events, 0)
	if err != nil || !b.Cleaned() {
		return v, nil //nolint:nilerr // told as a broken history
	}
	v.want.State = domain.JobDeleted
	_, err = c.Live.Batch(ctx, id)
	switch {
	case err == nil, errors.Is(err, eventstore.ErrBroken), len(v.look.Nodes) == 0: // it is being removed, or has gone
		v.findings = nil
	case errors.Is(err, eventstore.ErrNotFound):
		v.findings = compare(known.ID.Aggregate(), nil, v.look.Nodes, false)
	default:
		return v, err
	}
	return v, nil
}

func (c *checker) batchKind(id domain.BatchID) kind[domain.Batch] {
	return kind[domain.Batch]{
		zero: domain.Batch{ID: id}, version: func(b domain.Batch) int64 { return b.Version }, evolve: domain.EvolveBatch,
		batch: func(domain.Batch) domain.BatchID { return "" },
		inspect: func(ctx context.Context) (eventstore.Observed, error) {
			return c.Live.InspectBatch(ctx, id, c.survey.Odd[id]...)
		},
		draw: func(b domain.Batch, look eventstore.Observed) eventstore.Nodes {
			b.NextRow = look.NextRow
			return c.Live.ExpectedBatch(b)
		},
	}
}

// batch compares a batch, and how many rows it counts as made. f may be nil. One
// that is deleted is being removed.
func (c *checker) batch(ctx context.Context, known domain.Batch, f *folded) ([]Finding, error) {
	v, err := c.judgeBatch(ctx, known, f)
	return v.findings, err
}

func (c *checker) judgeBatch(ctx context.Context, known domain.Batch, f *folded) (verdict[domain.Batch], error) {
	v, err := judge(ctx, c, known.ID.Aggregate(), c.batchKind(known.ID), known)
	if err != nil || v.want.State == domain.BatchDeleted && v.look.Version >= v.want.Version || v.want.Version == 0 {
		if err == nil && v.want.State == domain.BatchDeleted {
			err = c.judgeRemoval(ctx, &v)
		}
		return v, err
	}
	return c.judgeRows(ctx, v, f)
}

// judgeRemoval keeps of the findings about a deleted batch those that stop its
// removal: what cannot be read. That parts of it are gone is as it should be; the
// submission goes together with the status.
func (c *checker) judgeRemoval(ctx context.Context, v *verdict[domain.Batch]) (err error) {
	v.findings = slices.DeleteFunc(v.findings, func(f Finding) bool {
		return f.Code != NodeWrong && f.Code != StatusWrong && (f.Code != NodeMissing || !strings.HasSuffix(f.Where, "/submission"))
	})
	if v.want.NextRow = v.look.NextRow; len(v.findings) > 0 && v.want.NextRow == 0 && v.want.Listing != nil {
		v.want.NextRow, err = c.made(ctx, *v.want.Listing)
	}
	return err
}

// judgeRows compares how many rows a batch counts as made with the jobs in the log.
func (c *checker) judgeRows(ctx context.Context, v verdict[domain.Batch], f *folded) (verdict[domain.Batch], error) {
	a, l := v.want.ID.Aggregate(), v.want.Listing
	ofProgress := func(f Finding) bool { return strings.HasSuffix(f.Where, "/progress") }
	lost := slices.ContainsFunc(v.findings, ofProgress) // or it cannot be read
	if l == nil || !lost && f != nil && f.made[v.want.ID] == v.look.NextRow {
		v.want.NextRow = v.look.NextRow
		return v, nil
	}
	var made, unsent int
	for wait := c.patient(); ; {
		var err error
		if unsent, err = c.Live.UnsentOf(ctx, a, ""); err != nil {
			return v, err
		}
		if made, err = c.made(ctx, *l); err != nil {
			return v, err
		}
		if made > v.look.NextRow { // the log moved after the look, or the number is wrong
			if err := c.Live.Sync(ctx); err != nil {
				return v, err
			}
			again, err := c.Live.InspectBatch(ctx, v.want.ID)
			if err != nil {
				return v, err
			}
			if again.NextRow != v.look.NextRow {
				return c.judgeBatch(ctx, v.want, nil)
			}
		}
		if made == v.look.NextRow && !lost || unsent == 0 || !wait.wait(ctx) {
			break // otherwise the events may be on their way
		}
	}
	v.want.NextRow = made
	if v.look.NextRow == 0 && made > 0 {
		v.findings = append(compare(a, c.Live.ExpectedBatch(v.want), v.look.Nodes, false), slices.DeleteFunc(v.findings, func(f Finding) bool { return f.Code != LockStale })...)
	}
	if made != v.look.NextRow && !slices.ContainsFunc(v.findings, ofProgress) {
		v.findings = append(v.findings, finding(RowsWrong, a.String(), "/batches/"+string(v.want.ID)+"/progress",
			fmt.Sprintf("next_row %d", made), fmt.Sprintf("next_row %d", v.look.NextRow)))
	}
	if made != v.look.NextRow || lost {
		v.findings = tooEarly(a, v.findings, unsent)
	}
	return v, ctx.Err()
}

// made gives how many rows of a listing have their jobs in the log: they are made
// in order.
func (c *checker) made(ctx context.Context, l domain.Listing) (int, error) {
	var err error
	n := sort.Search(l.Rows, func(row int) bool {
		last, e := c.Log.Last(ctx, l.FirstJID.Plus(row).Aggregate())
		if e != nil {
			err = e
		}
		return last.Version == 0
	})
	return n, err
}
