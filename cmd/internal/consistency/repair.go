package consistency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Outcome is what became of a repair.
type Outcome struct {
	Subject     string    `json:"subject"` // the aggregate whose history has the event
	Event       string    `json:"event"`   // id of the event, "" = none was written
	Repaired    []Finding `json:"mended"`
	NotRepaired string    `json:"left,omitempty"` // why it was not repaired
}

// maxStrays is how many strays one repair removes; each is named in its event.
const maxStrays = 50

// repairOrder is the order in which kinds are repaired.
var repairOrder = []domain.Kind{domain.KindBatch, domain.KindJob, domain.KindQuery, domain.KindEntry, domain.KindSetting}

// Repair repairs the findings that are repairable: batches first, then jobs,
// queries, entries of the compute queue, settings, and what belongs to nothing. Each is inspected again and repaired as it is
// now; what has changed meanwhile is left, and its outcome says so. With o.DryRun
// nothing is written.
func Repair(ctx context.Context, cfg Config, h *eventstore.Handler, findings []Finding, o eventstore.Meta) (all []Outcome, err error) {
	c, err := newChecker(ctx, cfg)
	if err != nil {
		return nil, err
	}
	o.CommandID = "" // each repair has one of its own
	r := repairer{c, h, o}
	subjects := map[domain.Aggregate]bool{}
	var strays, outside, rings []Finding
	for _, f := range findings {
		switch a, err := domain.ParseAggregate(f.Subject); {
		case f.Severity != Repairable:
		case f.Code == RingWrong:
			rings = append(rings, f)
		case f.repair != nil:
			outside = append(outside, f)
		case isStray(f):
			strays = append(strays, f)
		case err == nil:
			subjects[a] = true
		}
	}
	slices.SortStableFunc(strays, func(a, b Finding) int { // children before parents
		return strings.Count(b.Where, "/") - strings.Count(a.Where, "/")
	})
	slices.SortStableFunc(outside, func(a, b Finding) int { // older copies are taken as they are when the rest is repaired
		return cmp.Compare(acceptance(a.Code), acceptance(b.Code))
	})
	var repairs []func() (Outcome, error)
	if len(rings) > 0 { // first: the nodes of batches are below its nodes
		repairs = append(repairs, func() (Outcome, error) { return r.strays(ctx, rings[:1]) })
	}
	for _, a := range slices.SortedFunc(maps.Keys(subjects), func(a, b domain.Aggregate) int {
		return cmp.Or(slices.Index(repairOrder, a.Kind)-slices.Index(repairOrder, b.Kind), cmp.Compare(a.ID, b.ID))
	}) {
		repairs = append(repairs, func() (Outcome, error) { return r.aggregate(ctx, a) })
	}
	for _, list := range [][]Finding{strays, outside} {
		for part := range slices.Chunk(list, maxStrays) {
			repairs = append(repairs, func() (Outcome, error) { return r.strays(ctx, part) })
		}
	}
	repairs = append(repairs, func() (Outcome, error) { return r.ringsAgain(ctx) })
	for _, repair := range repairs {
		out, err := repair()
		var refused *domain.Refused
		switch {
		case errors.Is(err, eventstore.ErrConflict), errors.As(err, &refused): // concerns this repair alone
			out.NotRepaired = err.Error()
		case err != nil:
			return all, err
		}
		if out.Subject != "" {
			all = append(all, out)
		}
	}
	return all, nil
}

// RepairRows is Repair for findings about rows of the records, of which the live state has
// no part.
func RepairRows(ctx context.Context, cfg Config, h *eventstore.Handler, findings []Finding, o eventstore.Meta) error {
	r := repairer{&checker{Config: cfg}, h, o}
	for part := range slices.Chunk(findings, maxStrays) {
		out, err := r.strays(ctx, part)
		if err == nil && out.NotRepaired != "" {
			err = errors.New(out.NotRepaired)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// acceptance is 1 for the repairs that take an older copy as it is.
func acceptance(code domain.Code) int {
	if code == RecordsOlder || code == StoreOlder {
		return 1
	}
	return 0
}

type repairer struct {
	*checker
	h *eventstore.Handler
	o eventstore.Meta
}

// repaired returns the findings as a repair's event has them.
func repaired(found []Finding) []domain.Repaired {
	list := make([]domain.Repaired, len(found))
	for i, f := range found {
		list[i] = domain.Repaired{Code: f.Code, Where: f.Where, Found: f.Got}
	}
	return list
}

// aggregate compares an aggregate again and repairs it.
func (r repairer) aggregate(ctx context.Context, a domain.Aggregate) (Outcome, error) {
	out := Outcome{Subject: a.String()}
	switch a.Kind {
	case domain.KindBatch:
		v, err := r.batch(ctx, batches.zero(a), nil)
		return repair(ctx, r, out, v, err, r.h.RepairBatch)
	case domain.KindJob:
		v, err := r.job(ctx, jobs.zero(a))
		if err == nil && v.want.State == domain.JobDeleted && v.observed.Version == 0 {
			return r.strays(ctx, v.findings) // what a job has left that is gone
		}
		return repair(ctx, r, out, v, err, r.h.RepairJob)
	case domain.KindQuery:
		return r.queryAgain(ctx, domain.QueryID(a.ID))
	case domain.KindEntry:
		return r.entryAgain(ctx, compute.ID(a.ID))
	default:
		v, err := r.setting(ctx, a, settings.zero(a))
		return repair(ctx, r, out, v, err, r.h.RepairSetting)
	}
}

// repair writes what an aggregate should be, unless a person has to look at it or a
// worker holds it.
func repair[S any](ctx context.Context, r repairer, out Outcome, v comparison[S], err error,
	write func(context.Context, S, eventstore.Observed, []domain.Repaired, eventstore.Meta) (domain.Recorded, error),
) (Outcome, error) {
	if left, err := r.ready(ctx, &out, v.findings, &v.observed, err); left || err != nil {
		return out, err
	}
	e, err := write(ctx, v.want, v.observed, repaired(v.findings), r.o)
	if err == nil && !r.o.DryRun {
		out.Event = e.ID()
	}
	return out, err
}

// ready prepares the repair of what was found about an aggregate, or reports that it is left
// as it is.
func (r repairer) ready(ctx context.Context, out *Outcome, found []Finding, o *eventstore.Observed, err error) (left bool, _ error) {
	if err != nil {
		return true, err
	}
	out.Repaired = found
	if len(found) == 0 {
		out.NotRepaired = "nothing is wrong with it any more"
		return true, nil
	}
	if i := slices.IndexFunc(found, func(f Finding) bool { return f.Severity != Repairable }); i >= 0 {
		out.NotRepaired = "a person has to look at it: " + found[i].String()
		return true, nil
	}
	switch l := o.Lock; {
	case l != nil && l.Alive:
		return true, &eventstore.Error{Op: "repair", Aggregate: o.Aggregate, Err: eventstore.ErrLocked, Hint: "locked by a worker: try again when its step has ended, or pause its queue first"}
	case l != nil && !r.o.DryRun:
		return false, r.Live.SeizeLock(ctx, o)
	}
	return false, nil
}

// rewrite repairs all that was found about a query or an entry by one write. The event stands
// in the history of maintenance, so that its own history stays as it is.
func (r repairer) rewrite(ctx context.Context, found []Finding, write func(context.Context) error) (Outcome, error) {
	found[0].repair = write
	for i := range found[1:] {
		found[i+1].repair = func(context.Context) error { return nil }
	}
	return r.strays(ctx, found)
}

// strays removes nodes and directories that belong to nothing, and repairs what lies
// outside of the live state. The event stands in the history of maintenance; what lies
// outside is changed after it.
func (r repairer) strays(ctx context.Context, found []Finding) (out Outcome, err error) {
	a := domain.Audit(0).Aggregate()
	out.Subject, out.Repaired = a.String(), found
	at, err := r.h.Live.Setting(ctx, domain.SettingAudit, domain.AuditMaintenance)
	if err != nil {
		return out, err
	}
	observed, err := r.Live.InspectSetting(ctx, a)
	if err != nil {
		return out, err
	}
	for _, f := range found {
		if f.repair == nil {
			observed.Nodes[f.Where] = ""
		}
	}
	e, err := r.h.RepairSetting(ctx, at.State, observed, repaired(found), r.o)
	if err != nil || r.o.DryRun {
		return out, err
	}
	out.Event = e.ID()
	for _, f := range found {
		if f.repair == nil {
			continue
		}
		if e := f.repair(ctx); e != nil { // concerns this one alone
			err = errors.Join(err, fmt.Errorf("repair %s: %w", f.Where, e))
		}
	}
	if err != nil && ctx.Err() == nil {
		out.NotRepaired, err = err.Error(), nil
	}
	return out, err
}
