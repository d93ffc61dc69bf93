// Package status shows which servers answer, who works, and what waits.
package status

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// statusTimeout is how long one server may take to answer.
const statusTimeout = 5 * time.Second

// WorkerStatus is a process that serves.
type WorkerStatus = eventstore.WorkerInfo

// AuditPass is what is known of a pass of the auditor.
type AuditPass = record.AuditPass

// asking asks the servers of an installation.
type asking struct{ *app.App }

// Status is a summary of the installation. Parts whose server does not answer are nil.
type Status struct {
	Servers    []ServerStatus    `json:"servers"`
	Workers    []WorkerStatus    `json:"workers"` // processes that serve
	Batches    []BatchesStatus   `json:"batches"` // as the tables have them
	Queues     []QueueStatus     `json:"queues"`
	Outbox     *OutboxStatus     `json:"outbox,omitempty"`
	Log        *LogStatus        `json:"log,omitempty"`
	Projection *ProjectionStatus `json:"projection,omitempty"`
	Audit      *AuditPass        `json:"audit,omitempty"` // nil = the auditor was never started, or PostgreSQL does not answer
	Types      *standing.Types   `json:"types,omitempty"` // nil = there is no stream by types, or NATS does not answer
	Drop       *drop.Status      `json:"drop,omitempty"`  // nil = there is no drop folder here
	Epoch      int64             `json:"epoch"`

	// Servers of depositors that steps use, most used first, up to 20, and how many there
	// are; nil = not known. Submitters are those for whom as many steps work as may.
	Hosts      []HostStatus      `json:"hosts"`
	HostsIn    *int              `json:"hosts_in_use"`
	Submitters []SubmitterStatus `json:"submitters"`

	// What stands still. A part that is nil is not known.
	Pauses     []standing.Hold       `json:"pauses"`
	Holds      []standing.Hold       `json:"holds"`
	Closed     []standing.Closed     `json:"closed"`     // intakes that let no deposits in
	Unserved   []standing.Unserved   `json:"unserved"`   // states in which no process works
	Oldest     []standing.Oldest     `json:"oldest"`     // what has waited longest in each state
	Unreadable []standing.Unreadable `json:"unreadable"` // of what has waited longest
	Overdue    *int                  `json:"overdue"`    // attempts at files, counted up to 1000
	Standing   []standing.Line       `json:"standing"`   // all that, and what else needs a person, in sentences

	candidates *standing.Candidates
}

// ServerStatus says whether a server answers.
type ServerStatus struct {
	Name    string  `json:"name"`
	URL     string  `json:"url"`
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"` // until the answer
	Error   string  `json:"error,omitempty"`
	// Lost says that it has lost its data, or that its restore has not ended.
	Lost bool `json:"lost,omitempty"`
}

type (
	// HostStatus says how many steps use a server of depositors.
	HostStatus = standing.HostStatus
	// SubmitterStatus says how many steps work for a submitter.
	SubmitterStatus = standing.SubmitterStatus
)

// QueueStatus counts the jobs in one state.
type QueueStatus struct {
	State domain.JobState `json:"state"`
	Jobs  int             `json:"jobs"`
}

// BatchesStatus counts the batches in one state.
type BatchesStatus struct {
	State   domain.BatchState `json:"state"`
	Batches int64             `json:"batches"`
}

// OutboxStatus says how far the log is behind the live state.
type OutboxStatus struct {
	Unsent  int     `json:"unsent"`
	Seconds float64 `json:"oldest_seconds"`
}

// LogStatus describes the log.
type LogStatus struct {
	Name string `json:"name"`
	Last uint64 `json:"last"`
}

// ProjectionStatus says how far PostgreSQL is behind the log.
type ProjectionStatus struct {
	Events            int64   `json:"events_behind"`
	Seconds           float64 `json:"seconds_behind"`
	Rate              float64 `json:"events_per_second"`       // that are applied; 0 when nothing is missing
	Remaining         float64 `json:"seconds_until_caught_up"` // at this rate, 0 = not known
	HeldEvents        int64   `json:"held_events"`             // that could not be applied, or wait behind one
	HeldAggregates    int64   `json:"held_aggregates"`
	PendingMigrations int     `json:"pending_migrations"`
}

// OK reports whether all servers answered.
func (s Status) OK() bool {
	return len(s.Servers) > 0 && !slices.ContainsFunc(s.Servers, func(server ServerStatus) bool { return !server.OK })
}

// Lost reports whether a server has lost its data.
func (s Status) Lost() bool {
	return slices.ContainsFunc(s.Servers, func(server ServerStatus) bool { return server.Lost })
}

// Of asks all three servers at once. A server that does not answer within 5 seconds is
// named in the result; that is not an error.
func Of(ctx context.Context, in *app.App) Status {
	a := asking{in}
	s := Status{Workers: []eventstore.WorkerInfo{}, Batches: []BatchesStatus{}, Queues: []QueueStatus{}}
	s.Servers = make([]ServerStatus, len(a.Open.Servers))
	asks := map[string]func(context.Context, *Status) error{ // each fills in fields of its own
		app.ServerZooKeeper: a.live, app.ServerNATS: a.log, app.ServerPostgres: a.tables,
	}
	var all sync.WaitGroup
	for i, at := range a.Open.Servers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, statusTimeout)
			defer cancel()
			begun := time.Now()
			err := asks[at.Name](ctx, &s)
			s.Servers[i] = ServerStatus{Name: at.Name, URL: at.URL, OK: err == nil, Seconds: time.Since(begun).Seconds()}
			s.Servers[i].Lost = errors.Is(err, eventstore.ErrRestoring)
			if known, ok := errors.AsType[*app.Error](err); ok {
				s.Servers[i].Lost = s.Servers[i].Lost || known.Kind == app.Lost
				err = known.Err // the server's name is shown beside it
			}
			if err != nil {
				s.Servers[i].Error = err.Error()
			}
		})
	}
	all.Wait()
	if s.Projection != nil && s.Log != nil {
		a.lag(ctx, &s)
	}
	a.standing(ctx, &s)
	if folder, err := a.Open.Drop(false); err == nil && folder != nil {
		if d, err := folder.Status(); err == nil {
			s.Drop = &d
		}
	}
	return s
}

// statusStanding adds what more than one server has to say of what stands still.
func (a asking) standing(ctx context.Context, s *Status) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	now := time.Now()
	if s.candidates != nil && s.Outbox != nil {
		if live, err := a.Open.Live(ctx); err == nil {
			s.Oldest, s.Unreadable, _ = s.candidates.Look(ctx, live, now)
		}
	}
	f := standing.Situation{Pauses: s.Pauses, Holds: s.Holds, Closed: s.Closed, Unserved: s.Unserved, Oldest: s.Oldest, Unreadable: s.Unreadable, Types: s.Types}
	if s.candidates != nil && s.Log != nil {
		if n, err := a.Open.Overdue(ctx); err == nil {
			s.Overdue, f.Overdue = &n, n
		}
	}
	if a.Open.Heap != nil {
		f.Heap = a.Open.Heap(ctx)
	}
	if s.Projection != nil {
		f.Poison = s.Projection.HeldEvents
	}
	if p := s.Audit; p != nil {
		f.Audit = &standing.Audit{Complete: p.Last, Findings: p.Findings, Corrupt: p.Corrupt}
	}
	s.Standing = standing.Lines(f, now)
}

func (a asking) live(ctx context.Context, s *Status) error {
	live, err := a.Open.Live(ctx)
	if err != nil {
		return err
	}
	o, err := live.Overview(ctx)
	if err != nil {
		return err
	}
	for _, w := range o.Workers {
		if len(w.Roles) > 0 { // else a process that only reads
			s.Workers = append(s.Workers, w)
		}
	}
	for _, state := range domain.JobStates {
		s.Queues = append(s.Queues, QueueStatus{State: state, Jobs: o.Queues[state]})
	}
	s.Outbox, s.Epoch = &OutboxStatus{Unsent: o.Outbox.Unsent, Seconds: o.Outbox.Oldest.Seconds()}, o.Epoch
	s.Unserved = standing.NotServed(o)
	taken, err := a.Open.Permits(ctx, 2*standing.MaxNamed)
	if err != nil {
		return err
	}
	hosts, in, full := standing.Permits(taken, standing.PermitLimits{Host: a.Open.HostPermits, Submitter: a.Open.SubmitterPermits})
	s.Hosts, s.HostsIn, s.Submitters = hosts, &in, full
	if s.Closed, err = standing.Intakes(ctx, a.Open.DepositQueues); err != nil {
		return err
	}
	holds, err := live.Holds(ctx)
	if err == nil {
		s.Pauses, s.Holds = standing.Holds(holds)
	}
	return err
}

func (a asking) log(ctx context.Context, s *Status) error {
	log, err := a.Open.Log(ctx)
	if err != nil {
		return err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	s.Log = &LogStatus{Name: info.Name, Last: info.Last}
	s.Types, err = a.Open.TypesLag(ctx)
	return err
}

func (a asking) tables(ctx context.Context, s *Status) error {
	pending, err := a.Open.Pending(ctx)
	if err != nil {
		return err
	}
	s.Projection = &ProjectionStatus{PendingMigrations: pending}
	if pending > 0 {
		return nil
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return err
	}
	if records, err := a.Open.Records(ctx); err == nil {
		s.Audit, _ = records.Audit(ctx) // an older schema does not have it
	}
	n, err := query.CountBatches(ctx, db)
	for _, state := range domain.BatchStates {
		if n[state] > 0 {
			s.Batches = append(s.Batches, BatchesStatus{State: state, Batches: n[state]})
		}
	}
	if err != nil {
		return err
	}
	found, err := standing.Find(ctx, db)
	if err == nil {
		s.candidates = &found
	}
	return err
}

// statusLag compares the log with the tables, when there are tables.
func (a asking) lag(ctx context.Context, s *Status) {
	p := s.Projection
	if p.PendingMigrations > 0 {
		p.Events = int64(s.Log.Last)
		return
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return
	}
	if n, err := query.CountPoison(ctx, db); err == nil {
		p.HeldEvents, p.HeldAggregates = n.Events, n.Aggregates
	}
	events, age, err := a.Open.Lag(ctx, s.Log.Last)
	if err != nil || events == 0 {
		return
	}
	p.Events, p.Seconds = events, age.Seconds()
	begun := time.Now()
	select {
	case <-time.After(rateTime):
	case <-ctx.Done():
		return
	}
	if later, err := query.Lag(ctx, db, s.Log.Last); err == nil && later < events {
		p.Rate = float64(events-later) / time.Since(begun).Seconds()
		p.Remaining = float64(later) / p.Rate
	}
}

// rateTime is how long the projector is observed to measure its rate.
const rateTime = 500 * time.Millisecond
