package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// Metrics returns the metrics of this process and, once Measure was called, of its
// installation.
func (in *Installation) Metrics() *ops.Metrics { return in.metrics }

// maxPoison is how many poison events are counted. Normally there is none.
const maxPoison = 1000

// Measure opens the servers, so that scrapes can read their metrics.
func (in *Installation) Measure(ctx context.Context) error {
	var live *LiveState
	var pool *pgxpool.Pool
	if err := openAll(ctx, into(&live, in.LiveState), into(&pool, in.Pool)); err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(domain.JobStates), func(s domain.JobState) bool { return s == domain.JobCompleted })
	served := slices.DeleteFunc(slices.Clone(domain.BatchStates), func(s domain.BatchState) bool { return s.Daemon() == "" })
	var sums query.Unexplained
	in.metrics.Installation(ops.Installation{
		Overview:  live.Overview,
		HeapLimit: in.heapLimit(),
		Permits: func(ctx context.Context) (p ops.Permits, err error) {
			all, err := live.Permits(ctx, 0)
			for _, of := range all {
				kind, most := &p.Hosts, in.cfg.HostPermits
				if of.Of.Submitter {
					kind, most = &p.Submitters, in.cfg.SubmitterPermits
				}
				if kind.Taken += of.Taken; of.Taken >= most {
					kind.Full++
				}
			}
			return p, err
		},
		Oldest: func(ctx context.Context) (map[domain.JobState]time.Time, error) {
			return since(query.OldestJobs(ctx, pool, open, 1))
		},
		OldestBatches: func(ctx context.Context) (map[domain.BatchState]time.Time, error) {
			return since(query.OldestBatches(ctx, pool, served, standing.FirstOfState))
		},
		Holds: live.Holds,
		Lag:   in.lag,
		Types: func(ctx context.Context) (*ops.Lag, error) {
			lag, err := in.TypesLag(ctx)
			if lag == nil || err != nil {
				return nil, err
			}
			if lag.Error != "" {
				return nil, errors.New(lag.Error)
			}
			return &ops.Lag{Events: lag.Events, Age: time.Duration(lag.Seconds * float64(time.Second))}, nil
		},
		Poison: func(ctx context.Context) (int, error) {
			events, err := query.Poison(ctx, pool, query.PoisonFilter{Limit: maxPoison})
			return len(events), err
		},
		Audit: func(ctx context.Context) (ops.Audit, error) {
			p, err := record.New(pool).Audit(ctx)
			if err != nil || p == nil {
				return ops.Audit{}, err
			}
			return ops.Audit{Complete: p.Last.Time, Objects: p.Objects, Bytes: p.Bytes, Findings: p.Findings, Corrupt: p.Corrupt, Replicas: p.Replicas}, nil
		},
		Bulk: func(ctx context.Context) (ops.Bulk, error) {
			b, err := record.New(pool).BulkStanding(ctx)
			return ops.Bulk{Waiting: int(b.Waiting), Running: int(b.Running), Still: time.Duration(b.StillSeconds * float64(time.Second)), Refused: b.Refused}, err
		},
		Mails:       record.New(pool).MailsWaiting,
		Unexplained: func(ctx context.Context) (int, error) { return sums.Scan(ctx, pool) },
		Overdue:     in.Overdue,
		Level:       func() int { return int(live.pressure.Level()) },
		Sessions:    live.Sessions,
		Unreadable:  live.Unreadable,
		Held: func() int {
			if in.relay == nil {
				return 0
			}
			return len(in.relay.Gaps())
		},
	})
	return nil
}

// since returns of each state the earliest time at which one waits.
func since[ID, State ~string](list []query.Standing[ID, State], err error) (map[State]time.Time, error) {
	first := map[State]time.Time{}
	for _, s := range list {
		if at, some := first[s.State]; !some || s.Since.Before(at) {
			first[s.State] = s.Since
		}
	}
	return first, err
}

// lag returns how many events the tables lack now, and how long ago the log took the
// first of them.
func (in *Installation) lag(ctx context.Context) (events int64, age time.Duration, err error) {
	stream, err := in.stream(ctx)
	if err != nil {
		return 0, 0, err
	}
	return in.Lag(ctx, stream.Last)
}

// Checks returns what this process needs to do its work: the three servers, room in
// the outbox, tables that are not far behind, and with steps also the directories that
// they write to.
func (in *Installation) Checks(steps bool) []ops.Check {
	checks := []ops.Check{
		check("zookeeper", in.LiveState, (*LiveState).alive),
		check("nats", in.stream, func(projections.StreamInfo, context.Context) error { return nil }),
		check("postgres", in.Pool, (*pgxpool.Pool).Ping),
		check("outbox", in.LiveState, (*LiveState).Room),
		{Name: "projection", Ask: in.checkLag},
	}
	if steps {
		checks = append(checks, check("work_dir", in.Work, func(w *store.Work, _ context.Context) error { return w.Check() }),
			check("store", in.Uploads, func(objects *store.Store, ctx context.Context) error { return in.checkStore(ctx, objects) }))
	}
	return checks
}

// check returns the check that opens a part and asks it.
func check[T any](name string, open func(context.Context) (T, error), ask func(T, context.Context) error) ops.Check {
	return ops.Check{Name: name, Ask: func(ctx context.Context) error {
		v, err := open(ctx)
		if err != nil {
			return err
		}
		return ask(v, ctx)
	}}
}

// Alive returns unless a lock is stuck that all work needs.
func (in *Installation) Alive(ctx context.Context) {
	if s, err := in.LiveState(ctx); err == nil {
		s.Sessions()
	}
}

// alive checks that there is a session and a reply under it.
func (l *LiveState) alive(ctx context.Context) error {
	if alive, _ := l.Sessions(); !alive {
		return fmt.Errorf("this process has no session: %w", eventstore.ErrFenced)
	}
	_, err := l.Setting(ctx, domain.HoldQueue, domain.QueueIngest)
	return err
}

// checkLag checks that the tables can continue with the log, and are not far behind.
func (in *Installation) checkLag(ctx context.Context) error {
	if err := in.checkContinuity(ctx); err != nil {
		return err
	}
	events, age, err := in.lag(ctx)
	if err == nil && age > in.cfg.ReadyMaxLag {
		return fmt.Errorf("the tables lack %d events, the first of them since %.0f s; ready_max_lag is %v", events, age.Seconds(), in.cfg.ReadyMaxLag)
	}
	return nil // a server that does not answer has a check of its own
}

func (in *Installation) checkStore(ctx context.Context, objects *store.Store) error {
	err := objects.Check(ctx)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%s is not there", in.shown["store"])
	}
	return err
}
