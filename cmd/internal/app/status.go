package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// statusTimeout is how long one server may take to answer.
const statusTimeout = 5 * time.Second

// WorkerStatus is a process that serves.
type WorkerStatus = eventstore.WorkerInfo

// Status is what an operator wants to see at a glance. Parts whose server does not
// answer are nil.
type Status struct {
	Servers    []ServerStatus    `json:"servers"`
	Workers    []WorkerStatus    `json:"workers"` // processes that serve
	Batches    []BatchesStatus   `json:"batches"` // as the tables have them
	Queues     []QueueStatus     `json:"queues"`
	Outbox     *OutboxStatus     `json:"outbox"`
	Log        *LogStatus        `json:"log"`
	Projection *ProjectionStatus `json:"projection"`
	Epoch      int64             `json:"epoch"`
}

// ServerStatus says whether a server answers.
type ServerStatus struct {
	Name    string  `json:"name"`
	URL     string  `json:"url"`
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"` // until the answer
	Error   string  `json:"error,omitempty"`
}

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

// OutboxStatus tells how far the log is behind the live state.
type OutboxStatus struct {
	Unsent  int     `json:"unsent"`
	Seconds float64 `json:"oldest_seconds"`
}

// LogStatus describes the log.
type LogStatus struct {
	Name string `json:"name"`
	Last uint64 `json:"last"`
}

// ProjectionStatus tells how far PostgreSQL is behind the log.
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
	for _, server := range s.Servers {
		if !server.OK {
			return false
		}
	}
	return len(s.Servers) > 0
}

// Status asks all three servers at once. What does not answer within 5 seconds is
// named in the answer, which is no error.
func (a *App) Status(ctx context.Context) Status {
	asks := map[string]func(context.Context, *Status) error{
		ServerZooKeeper: a.statusLive, ServerNATS: a.statusLog, ServerPostgres: a.statusTables,
	}
	addresses := a.Open.Servers
	parts := make([]Status, len(addresses))
	servers := make([]ServerStatus, len(addresses))
	var all sync.WaitGroup
	for i, at := range addresses {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, statusTimeout)
			defer cancel()
			begun := time.Now()
			err := asks[at.Name](ctx, &parts[i])
			servers[i] = ServerStatus{Name: at.Name, URL: at.URL, OK: err == nil, Seconds: time.Since(begun).Seconds()}
			var known *Error
			if errors.As(err, &known) {
				err = known.Err // the server's name stands beside it
			}
			if err != nil {
				servers[i].Error = err.Error()
			}
		})
	}
	all.Wait()
	s := Status{Servers: servers, Workers: []eventstore.WorkerInfo{}, Batches: []BatchesStatus{}, Queues: []QueueStatus{}}
	for _, p := range parts {
		if p.Outbox != nil {
			s.Workers, s.Queues, s.Outbox, s.Epoch = append(s.Workers, p.Workers...), p.Queues, p.Outbox, p.Epoch
		}
		if p.Log != nil {
			s.Log = p.Log
		}
		if p.Projection != nil {
			s.Projection, s.Batches = p.Projection, append(s.Batches, p.Batches...)
		}
	}
	if s.Projection != nil && s.Log != nil {
		a.statusLag(ctx, &s)
	}
	return s
}

func (a *App) statusLive(ctx context.Context, s *Status) error {
	live, err := a.Open.Live(ctx)
	if err != nil {
		return err
	}
	o, err := live.Overview(ctx)
	if err != nil {
		return err
	}
	for _, w := range o.Workers {
		if len(w.Roles) > 0 { // else somebody who only asks
			s.Workers = append(s.Workers, w)
		}
	}
	for _, state := range domain.JobStates {
		s.Queues = append(s.Queues, QueueStatus{State: state, Jobs: o.Queues[state]})
	}
	s.Outbox, s.Epoch = &OutboxStatus{Unsent: o.Outbox.Unsent, Seconds: o.Outbox.Oldest.Seconds()}, o.Epoch
	return nil
}

func (a *App) statusLog(ctx context.Context, s *Status) error {
	log, err := a.Open.Log(ctx)
	if err != nil {
		return err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	s.Log = &LogStatus{Name: info.Name, Last: info.Last}
	return nil
}

func (a *App) statusTables(ctx context.Context, s *Status) error {
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
	n, err := query.CountBatches(ctx, db)
	if err != nil {
		return err
	}
	for _, state := range domain.BatchStates {
		if n[state] > 0 {
			s.Batches = append(s.Batches, BatchesStatus{State: state, Batches: n[state]})
		}
	}
	return nil
}

// statusLag compares the log with the tables, when there are tables.
func (a *App) statusLag(ctx context.Context, s *Status) {
	if s.Projection.PendingMigrations > 0 {
		s.Projection.Events = int64(s.Log.Last)
		return
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return
	}
	if n, err := query.CountPoison(ctx, db); err == nil {
		s.Projection.HeldEvents, s.Projection.HeldAggregates = n.Events, n.Aggregates
	}
	events, age, err := a.Open.Lag(ctx, s.Log.Last)
	if err != nil || events == 0 {
		return
	}
	s.Projection.Events, s.Projection.Seconds = events, age.Seconds()
	begun := time.Now()
	select {
	case <-time.After(rateTime):
	case <-ctx.Done():
		return
	}
	if later, err := query.Lag(ctx, db, s.Log.Last); err == nil && later < events {
		s.Projection.Rate = float64(events-later) / time.Since(begun).Seconds()
		s.Projection.Remaining = float64(later) / s.Projection.Rate
	}
}

// rateTime is how long the projector is watched to tell its rate.
const rateTime = 500 * time.Millisecond
