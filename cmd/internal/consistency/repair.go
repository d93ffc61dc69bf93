package consistency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Outcome is what became of a repair.
type Outcome struct {
	Subject string    `json:"subject"` // the aggregate whose history tells of it
	Event   string    `json:"event"`   // id of the event, "" = none was written
	Mended  []Finding `json:"mended"`
	Left    string    `json:"left,omitempty"` // why it was left as it is
}

// maxTold is how many strays one repair takes; each is named in its event.
const maxTold = 50

// Repair puts right what the findings tell of, if they are repairable: batches
// first, then jobs, settings, and what belongs to nothing. Each is looked at again
// and mended as it is now; what has changed meanwhile is left, and says so. With
// o.DryRun nothing is written.
func Repair(ctx context.Context, cfg Config, h *eventstore.Handler, findings []Finding, o eventstore.Meta) ([]Outcome, error) {
	c := &checker{Config: cfg, known: map[domain.Aggregate]domain.Setting{}}
	if c.Wait == 0 {
		c.Wait = defaultWait
	}
	var err error
	if c.survey, err = cfg.Live.Survey(ctx); err != nil {
		return nil, err
	}
	r := repairer{checker: c, h: h, o: o}
	bySubject := map[domain.Aggregate]bool{}
	var strays, dirs []Finding
	for _, f := range findings {
		switch a, err := domain.ParseAggregate(f.Subject); {
		case f.Severity != Repairable:
		case f.remove != nil:
			dirs = append(dirs, f)
		case isStray(f):
			strays = append(strays, f)
		case err == nil:
			bySubject[a] = true
		}
	}
	order := slices.SortedFunc(maps.Keys(bySubject), func(a, b domain.Aggregate) int {
		rank := map[domain.Kind]int{domain.KindBatch: 0, domain.KindJob: 1, domain.KindSetting: 2}
		if a.Kind != b.Kind {
			return rank[a.Kind] - rank[b.Kind]
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	var all []Outcome
	keep := func(out Outcome, err error) error {
		if err != nil && !leaves(err) {
			return err
		}
		if err != nil {
			out.Left = err.Error()
		}
		all = append(all, out)
		return nil
	}
	for _, a := range order {
		if err := keep(r.aggregate(ctx, a)); err != nil {
			return all, err
		}
	}
	slices.SortStableFunc(strays, func(a, b Finding) int { // children before parents
		return strings.Count(b.Where, "/") - strings.Count(a.Where, "/")
	})
	for part := range slices.Chunk(strays, maxTold) {
		if err := keep(r.strays(ctx, part, nil)); err != nil {
			return all, err
		}
	}
	for part := range slices.Chunk(dirs, maxTold) {
		if err := keep(r.strays(ctx, nil, part)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// leaves reports whether an error concerns the one repair alone.
func leaves(err error) bool {
	var refused *domain.Refused
	return errors.Is(err, eventstore.ErrConflict) || errors.As(err, &refused)
}

type repairer struct {
	*checker
	h *eventstore.Handler
	o eventstore.Meta
}

// order gives each repair a command of its own.
func (r repairer) order() eventstore.Meta {
	o := r.o
	o.CommandID = ""
	return o
}

func mendedOf(found []Finding) []domain.Mended {
	list := make([]domain.Mended, len(found))
	for i, f := range found {
		list[i] = domain.Mended{Code: f.Code, Where: f.Where, Found: f.Got}
	}
	return list
}

// aggregate looks at one again and mends it.
func (r repairer) aggregate(ctx context.Context, a domain.Aggregate) (out Outcome, err error) {
	out.Subject = a.String()
	switch a.Kind {
	case domain.KindBatch:
		v, err := r.judgeBatch(ctx, domain.Batch{ID: domain.BatchID(a.ID)}, nil)
		return mend(ctx, r, out, v.findings, &v.look, err, func(mended []domain.Mended) (domain.Recorded, error) {
			return r.h.RepairBatch(ctx, v.want, v.look, mended, r.order())
		})
	case domain.KindJob:
		v, err := r.judgeJob(ctx, domain.Job{ID: domain.JobID(a.ID)})
		if err == nil && v.want.State == domain.JobDeleted && v.look.Version == 0 {
			return r.leftovers(ctx, v)
		}
		return mend(ctx, r, out, v.findings, &v.look, err, func(mended []domain.Mended) (domain.Recorded, error) {
			return r.h.RepairJob(ctx, v.want, v.look, mended, r.order())
		})
	default:
		v, err := judge(ctx, r.checker, a, r.settingKind(a), settingOf(a))
		return mend(ctx, r, out, v.findings, &v.look, err, func(mended []domain.Mended) (domain.Recorded, error) {
			return r.h.RepairSetting(ctx, v.want, v.look, mended, r.order())
		})
	}
}

func mend(ctx context.Context, r repairer, out Outcome, found []Finding, look *eventstore.Observed, err error, write func([]domain.Mended) (domain.Recorded, error)) (Outcome, error) {
	if err != nil {
		return out, err
	}
	out.Mended = found
	if len(found) == 0 {
		out.Left = "nothing is wrong with it any more"
		return out, nil
	}
	if i := slices.IndexFunc(found, func(f Finding) bool { return f.Severity != Repairable }); i >= 0 {
		out.Left = "somebody has to look at it: " + found[i].String()
		return out, nil
	}
	if l := look.Lock; l != nil && !l.Alive && !r.o.DryRun {
		if err := r.Live.SeizeLock(ctx, look); err != nil {
			return out, err
		}
	} else if l != nil && l.Alive {
		return out, &eventstore.Error{Op: "repair", Aggregate: look.Aggregate, Err: eventstore.ErrLocked, Hint: "a worker is at it; ask again when its step has ended, or pause its queue first"}
	}
	e, err := write(mendedOf(found))
	if err == nil && !r.o.DryRun {
		out.Event = e.ID()
	}
	return out, err
}

// leftovers removes what a job has left that is gone.
func (r repairer) leftovers(ctx context.Context, v verdict[domain.Job]) (Outcome, error) {
	return r.strays(ctx, v.findings, nil)
}

// strays removes nodes and directories that belong to nothing. The event stands in
// the history of maintenance; a directory is removed after it.
func (r repairer) strays(ctx context.Context, nodes, dirs []Finding) (out Outcome, err error) {
	a := domain.Audit(0).Aggregate()
	out.Subject, out.Mended = a.String(), append(slices.Clone(nodes), dirs...)
	at, err := r.h.Live.Setting(ctx, domain.HoldAudit, domain.AuditMaintenance)
	if err != nil {
		return out, err
	}
	look, err := r.Live.InspectSetting(ctx, a)
	if err != nil {
		return out, err
	}
	for _, f := range nodes {
		look.Nodes[f.Where] = ""
	}
	e, err := r.h.RepairSetting(ctx, at.State, look, mendedOf(out.Mended), r.order())
	if err != nil || r.o.DryRun {
		return out, err
	}
	out.Event = e.ID()
	for _, f := range dirs {
		if err := f.remove(); err != nil {
			return out, fmt.Errorf("remove %s: %w", f.Where, err)
		}
	}
	return out, nil
}
