package consistency

import (
	"cmp"
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

// subject is an aggregate to be compared with the live state.
type subject[S any] struct {
	kind[S]
	aggregate domain.Aggregate
	inspect   func(context.Context) (eventstore.Observed, error)
	expected  func(S, eventstore.Observed) eventstore.Nodes
}

// comparison is what was found about one aggregate: what it should be, what was
// observed, and how they differ.
type comparison[S any] struct {
	want     S
	observed eventstore.Observed
	findings []Finding
}

// compareLive compares an aggregate with the log at the version that the live state
// has. known is what the log said before; what is ahead of the log, or not in it, is
// waited for.
func compareLive[S any](ctx context.Context, c *checker, s subject[S], known S) (v comparison[S], err error) {
	a, is, wait := s.aggregate, s.key(known), c.patient()
	for {
		if v.observed, err = s.inspect(ctx); err != nil {
			return v, fmt.Errorf("inspect %s: %w", a, err)
		}
		v.want = known
		at := v.observed.Version
		if at > 0 && at == is.version {
			return v.compare(s, false, 0), nil
		}
		// With an empty outbox now, whatever was written before the inspection is in
		// the log.
		unsent, err := c.Live.UnsentOf(ctx, a, is.batch)
		if err != nil {
			return v, err
		}
		events, err := c.history(ctx, a)
		if err != nil {
			return v, err
		}
		head := int64(len(events))
		if v.want, err = s.fold(a, events, at); err != nil {
			return v, nil //nolint:nilerr // reported as a broken history
		}
		if now := s.key(v.want).batch; now != is.batch { // where its events wait is known now
			is.batch = now
			continue
		}
		behind := at > 0 && at < head
		switch {
		case at > 0 && at == head:
			return v.compare(s, false, 0), nil // what is unsent belongs to others
		case at == 0 && len(v.observed.Nodes) == 0 && len(s.expected(v.want, v.observed)) == 0:
			return v, nil // it is gone, as it should be
		case behind: // or the log moved after the inspection
			if err := c.Live.Sync(ctx); err != nil {
				return v, err
			}
			if v.observed, err = s.inspect(ctx); err != nil {
				return v, err
			}
			if v.observed.Version != at {
				continue
			}
		}
		if unsent > 0 && wait.wait(ctx) {
			continue
		}
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
		if at > head && unsent > 0 { // no relay is at work: the outbox has the rest of its history
			if events, err = c.withUnsent(ctx, a); err != nil {
				return v, err
			}
			if want, err := s.fold(a, events, at); err == nil && s.key(want).version == at {
				v.want = want
				return v.compare(s, false, unsent), nil
			}
		}
		switch {
		case head == 0 && (at > 0 || a.Kind != domain.KindSetting): // else the node of a hold that another program made
			v.findings = []Finding{finding(UnknownThere, a.String(), "", absent, names(v.observed.Nodes))}
			return v, nil
		case at > head:
			v.findings = []Finding{finding(NotInLog, a.String(), "", fmt.Sprintf("version %d, the last in the log", head), fmt.Sprintf("version %d", at))}
			return v, nil
		case behind:
			if v.want, err = s.fold(a, events, 0); err != nil {
				return v, nil //nolint:nilerr // reported as a broken history
			}
		}
		return v.compare(s, behind, unsent), nil
	}
}

// compare finds how the nodes and the lock of an aggregate differ from what they
// should be. unsent counts what may be missing in the log.
func (v comparison[S]) compare(s subject[S], behind bool, unsent int) comparison[S] {
	want := s.expected(v.want, v.observed)
	v.findings = compareNodes(s.aggregate, want, v.observed.Nodes, behind)
	if l := v.observed.Lock; l != nil && !l.Alive {
		v.findings = append(v.findings, finding(LockStale, s.aggregate.String(), l.Node, "a live worker", "worker "+l.Holder))
	}
	if len(want) > 0 { // nothing follows a deletion
		v.findings = tooEarly(s.aggregate, v.findings, unsent)
	}
	return v
}

// tooEarly withholds repairs as long as events may be in the outbox: written without
// them, an aggregate would have two histories, and the log would take one of them.
func tooEarly(a domain.Aggregate, found []Finding, unsent int) []Finding {
	if unsent == 0 || len(found) == 0 {
		return found
	}
	return []Finding{finding(DamagedUnsent, a.String(), found[0].Where, "all of its events in the log",
		fmt.Sprintf("%d nodes of the outbox still to be sent there, and %s", unsent, found[0].Code))}
}

// names lists the names of nodes, sorted.
func names(nodes eventstore.Nodes) string {
	return strings.Join(slices.Sorted(maps.Keys(nodes)), " ")
}

// compareNodes finds the nodes that differ.
func compareNodes(a domain.Aggregate, want, got eventstore.Nodes, behind bool) (all []Finding) {
	if len(want) > 0 && a.Kind != domain.KindSetting && (len(got) == 0 || onlyTicket(a, got)) {
		code := JobMissing
		switch a.Kind {
		case domain.KindBatch:
			code = BatchMissing
		case domain.KindQuery:
			code = QueryMissing
		case domain.KindEntry:
			code = EntryMissing
		}
		return []Finding{finding(code, a.String(), "", names(want), absent)}
	}
	add := func(code domain.Code, node, w, g string) {
		if behind {
			code = TreeBehind
		}
		all = append(all, finding(code, a.String(), node, w, g))
	}
	both := maps.Clone(got)
	maps.Copy(both, want)
	_, status := got["/jobs/"+a.ID+"/status"]
	for _, node := range slices.Sorted(maps.Keys(both)) {
		w, wanted := want[node]
		g, there := got[node]
		codes := codesOf(a, node, status)
		switch {
		case !there:
			add(codes.missing, node, cmp.Or(w, "it"), absent)
		case !wanted:
			add(codes.extra, node, absent, cmp.Or(g, "it"))
		case w != g && normal(w) != normal(g):
			w, g = narrow(normal(w), normal(g))
			add(codes.wrong, node, cmp.Or(w, "no data"), cmp.Or(g, "no data"))
		}
	}
	return all
}

// onlyTicket reports whether a batch or query has no nodes but those in a deposit queue.
func onlyTicket(a domain.Aggregate, got eventstore.Nodes) bool {
	for node := range got {
		if !strings.HasPrefix(node, "/queues/") {
			return false
		}
	}
	return a.Kind == domain.KindBatch || a.Kind == domain.KindQuery
}

// nodeCodes are the codes for the differences of a node.
type nodeCodes struct{ missing, extra, wrong domain.Code }

// codesOf returns the codes for a node. status says that its job has a status.
func codesOf(a domain.Aggregate, node string, status bool) nodeCodes {
	switch {
	case a.Kind == domain.KindSetting:
		return nodeCodes{SettingWrong, SettingWrong, SettingWrong}
	case a.Kind == domain.KindEntry:
		return codesOfEntry(node)
	case strings.HasPrefix(node, "/jobs/states/") && status:
		return nodeCodes{QueueEntryMissing, QueueEntryWrong, ""}
	case strings.HasPrefix(node, "/jobs/states/"):
		return nodeCodes{QueueEntryMissing, QueueEntryOrphan, ""}
	case strings.HasPrefix(node, "/space/"):
		return nodeCodes{PromiseMissing, PromiseOrphan, PromiseWrong}
	case strings.HasPrefix(node, "/objects/"):
		return nodeCodes{ObjectEntryMissing, ObjectEntryOrphan, NodeWrong}
	case a.Kind == domain.KindJob && strings.HasPrefix(node, "/batches/") && status:
		return nodeCodes{ReferenceMissing, ReferenceWrong, ""}
	case a.Kind == domain.KindJob && strings.HasPrefix(node, "/batches/"):
		return nodeCodes{ReferenceMissing, ReferenceOrphan, ""}
	case strings.HasPrefix(node, "/queues/"):
		return nodeCodes{TicketMissing, TicketOrphan, NodeWrong}
	case strings.HasSuffix(node, "/status"):
		return nodeCodes{StatusMissing, NodeUnknown, StatusWrong}
	}
	return nodeCodes{NodeMissing, NodeUnknown, NodeWrong}
}

// job compares a job. Those of a batch that is being cleaned up go without events.
func (c *checker) job(ctx context.Context, known domain.Job) (comparison[domain.Job], error) {
	a := known.ID.Aggregate()
	also := slices.Concat(c.survey.Entries[known.ID], c.survey.Refs[known.ID], c.survey.Promises[known.ID], c.survey.Objects[known.ID])
	v, err := compareLive(ctx, c, subject[domain.Job]{jobs, a,
		func(ctx context.Context) (eventstore.Observed, error) {
			return c.Live.InspectJob(ctx, known.ID, also...)
		},
		c.Live.ExpectedJob,
	}, known)
	if err != nil || len(v.findings) == 0 || v.want.Version == 0 {
		return v, err
	}
	id := v.want.Configuration.BatchID
	events, err := c.history(ctx, id.Aggregate())
	if err != nil {
		return v, err
	}
	b, err := batches.fold(id.Aggregate(), events, 0)
	if err != nil || !b.Cleaned() {
		return v, nil //nolint:nilerr // reported as a broken history
	}
	v.want.State = domain.JobDeleted
	switch _, err = c.Live.Batch(ctx, id); {
	case err == nil, errors.Is(err, eventstore.ErrBroken), len(v.observed.Nodes) == 0: // it is being removed, or has gone
		v.findings = nil
	case errors.Is(err, eventstore.ErrNotFound):
		v.findings = compareNodes(a, nil, v.observed.Nodes, false)
	default:
		return v, err
	}
	return v, nil
}

// setting compares a setting.
func (c *checker) setting(ctx context.Context, a domain.Aggregate, known domain.Setting) (comparison[domain.Setting], error) {
	return compareLive(ctx, c, subject[domain.Setting]{settings, a,
		func(ctx context.Context) (eventstore.Observed, error) { return c.Live.InspectSetting(ctx, a) },
		c.Live.ExpectedSetting,
	}, known)
}

// batch compares a batch, and how many rows it counts as made. f may be nil. One
// that is deleted is being removed.
func (c *checker) batch(ctx context.Context, known domain.Batch, f *folded) (comparison[domain.Batch], error) {
	v, err := compareLive(ctx, c, subject[domain.Batch]{batches, known.ID.Aggregate(),
		func(ctx context.Context) (eventstore.Observed, error) {
			return c.Live.InspectBatch(ctx, known.ID, slices.Concat(c.survey.Unnamed[known.ID], c.survey.Tickets[known.ID])...)
		},
		func(b domain.Batch, o eventstore.Observed) eventstore.Nodes {
			b.NextRow = o.NextRow
			return c.Live.ExpectedBatch(b)
		},
	}, known)
	switch {
	case err != nil || v.want.Version == 0:
		return v, err
	case v.want.State == domain.BatchDeleted && v.observed.Version >= v.want.Version:
		return c.removal(ctx, v)
	}
	return c.rowsMade(ctx, v, f)
}

// removal keeps of the findings about a deleted batch those that stop its removal:
// what cannot be read. That parts of it are gone is as it should be; the submission
// goes together with the status.
func (c *checker) removal(ctx context.Context, v comparison[domain.Batch]) (_ comparison[domain.Batch], err error) {
	v.findings = slices.DeleteFunc(v.findings, func(f Finding) bool {
		return f.Code != NodeWrong && f.Code != StatusWrong && (f.Code != NodeMissing || !strings.HasSuffix(f.Where, "/submission"))
	})
	if v.want.NextRow = v.observed.NextRow; len(v.findings) > 0 && v.want.NextRow == 0 && v.want.Listing != nil {
		v.want.NextRow, err = c.made(ctx, *v.want.Listing)
	}
	return v, err
}

// rowsMade compares how many rows a batch counts as made with the jobs in the log.
func (c *checker) rowsMade(ctx context.Context, v comparison[domain.Batch], f *folded) (comparison[domain.Batch], error) {
	a, l := v.want.ID.Aggregate(), v.want.Listing
	ofProgress := func(f Finding) bool { return strings.HasSuffix(f.Where, "/progress") }
	lost := slices.ContainsFunc(v.findings, ofProgress) // or it cannot be read
	if l == nil || !lost && f != nil && f.made[v.want.ID] == v.observed.NextRow {
		v.want.NextRow = v.observed.NextRow
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
		if made > v.observed.NextRow { // the log moved after the inspection, or the number is wrong
			if err := c.Live.Sync(ctx); err != nil {
				return v, err
			}
			again, err := c.Live.InspectBatch(ctx, v.want.ID)
			if err != nil {
				return v, err
			}
			if again.NextRow != v.observed.NextRow {
				return c.batch(ctx, v.want, nil)
			}
		}
		if made == v.observed.NextRow && !lost || unsent == 0 || !wait.wait(ctx) {
			break // otherwise the events may be in the outbox
		}
	}
	if made < v.observed.NextRow && unsent > 0 {
		var err error
		if made, err = c.madeUnsent(ctx, *l); err != nil {
			return v, err
		}
	}
	v.want.NextRow = made
	wrong := made != v.observed.NextRow
	if v.observed.NextRow == 0 && made > 0 {
		stale := slices.DeleteFunc(v.findings, func(f Finding) bool { return f.Code != LockStale })
		v.findings = append(compareNodes(a, c.Live.ExpectedBatch(v.want), v.observed.Nodes, false), stale...)
	}
	if wrong && !slices.ContainsFunc(v.findings, ofProgress) {
		v.findings = append(v.findings, finding(RowsWrong, a.String(), "/batches/"+string(v.want.ID)+"/progress",
			fmt.Sprintf("next_row %d", made), fmt.Sprintf("next_row %d", v.observed.NextRow)))
	}
	if wrong || lost {
		v.findings = tooEarly(a, v.findings, unsent)
	}
	return v, ctx.Err()
}

// made returns how many rows of a listing have their jobs in the log: they are made
// in order.
func (c *checker) made(ctx context.Context, l domain.Listing) (n int, err error) {
	n = sort.Search(l.Rows, func(row int) bool {
		last, e := c.Log.Last(ctx, l.FirstJID.Plus(row).Aggregate())
		if e != nil {
			err = e
		}
		return last.Version == 0
	})
	return n, err
}

// madeUnsent is made with the jobs whose first event waits in the outbox.
func (c *checker) madeUnsent(ctx context.Context, l domain.Listing) (int, error) {
	waiting := map[string]bool{}
	for e, err := range Unsent(ctx, c.Live) {
		if err != nil {
			return 0, err
		}
		if e.Aggregate.Kind == domain.KindJob && e.Version == 1 {
			waiting[e.Aggregate.ID] = true
		}
	}
	n, err := c.made(ctx, l)
	for n < l.Rows && waiting[string(l.FirstJID.Plus(n))] {
		n++
	}
	return n, err
}
