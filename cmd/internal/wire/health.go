package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Metrics gives the numbers of this process and, once the servers are open, of its
// installation.
func (w *World) Metrics() *ops.Metrics { return w.metrics }

// maxPoison is how many poison events are counted. Normally there is none.
const maxPoison = 1000

// Measure lets scrapes ask the servers; everything must be open.
func (w *World) Measure(ctx context.Context) error {
	s, err := w.Store(ctx)
	if err != nil {
		return err
	}
	if _, err := w.Pool(ctx); err != nil {
		return err
	}
	asked := make([]domain.JobState, 0, len(domain.JobStates))
	for _, state := range domain.JobStates {
		if state != domain.JobCompleted {
			asked = append(asked, state)
		}
	}
	var sums query.Unexplained
	w.metrics.Installation(ops.Installation{
		Overview: s.Overview,
		Oldest: func(ctx context.Context) (map[domain.JobState]time.Time, error) {
			pool, err := w.Pool(ctx)
			if err != nil {
				return nil, err
			}
			return query.OldestJobs(ctx, pool, asked)
		},
		Lag: w.lag,
		Poison: func(ctx context.Context) (int, error) {
			pool, err := w.Pool(ctx)
			if err != nil {
				return 0, err
			}
			held, err := query.Poison(ctx, pool, maxPoison)
			return len(held), err
		},
		Unexplained: func(ctx context.Context) (int, error) {
			pool, err := w.Pool(ctx)
			if err != nil {
				return 0, err
			}
			return sums.Look(ctx, pool)
		},
		Level:      func() int { return int(s.pressure.Level()) },
		Sessions:   s.Sessions,
		Unreadable: s.Unreadable,
		Held: func() int {
			if w.relay == nil {
				return 0
			}
			return len(w.relay.Gaps())
		},
	})
	return nil
}

// lag tells how far the tables are behind the log.
func (w *World) lag(ctx context.Context) (events int64, seconds float64, err error) {
	log, err := w.Log(ctx)
	if err != nil {
		return 0, 0, err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return 0, 0, err
	}
	events, age, err := w.Lag(ctx, info.Last)
	return events, age.Seconds(), err
}

// Checks are what this process needs to do its work: the three servers, room in
// the outbox, tables that are not far behind, and with steps also the places that
// they write to.
func (w *World) Checks(steps bool) []ops.Check {
	checks := []ops.Check{
		{Name: "zookeeper", Ask: w.checkSession},
		{Name: "nats", Ask: func(ctx context.Context) error {
			log, err := w.Log(ctx)
			if err == nil {
				_, err = log.Info(ctx)
			}
			return err
		}},
		{Name: "postgres", Ask: func(ctx context.Context) error {
			pool, err := w.Pool(ctx)
			if err == nil {
				err = pool.Ping(ctx)
			}
			return err
		}},
		{Name: "outbox", Ask: w.checkOutbox},
		{Name: "projection", Ask: w.checkLag},
	}
	if steps {
		checks = append(checks, ops.Check{Name: "work_dir", Ask: w.checkWork}, ops.Check{Name: "store", Ask: w.checkStore})
	}
	return checks
}

// Alive returns when the parts that everything goes through are not stuck.
func (w *World) Alive(ctx context.Context) {
	if s, err := w.Store(ctx); err == nil {
		s.Sessions()
	}
}

// checkSession wants a session and an answer under it.
func (w *World) checkSession(ctx context.Context) error {
	s, err := w.Store(ctx)
	if err != nil {
		return err
	}
	if alive, _ := s.Sessions(); !alive {
		return fmt.Errorf("this process has no session: %w", eventstore.ErrFenced)
	}
	_, err = s.Setting(ctx, domain.HoldQueue, domain.QueueIngest)
	return err
}

// checkOutbox wants room for deposits.
func (w *World) checkOutbox(ctx context.Context) error {
	s, err := w.Store(ctx)
	if err == nil {
		err = s.Room(ctx)
	}
	return err
}

// checkLag wants tables that can go on with the log, and are not far behind.
func (w *World) checkLag(ctx context.Context) error {
	if err := w.continues(ctx); err != nil {
		return err
	}
	events, seconds, err := w.lag(ctx)
	if err != nil {
		return nil //nolint:nilerr // the checks of the two servers tell of it
	}
	if seconds > w.cfg.ReadyMaxLag.Seconds() {
		return fmt.Errorf("the tables lack %d events, the first of them since %.0f s; ready_max_lag is %v", events, seconds, w.cfg.ReadyMaxLag)
	}
	return nil
}

// checkWork wants the directory to carry the mark of this installation: another
// one may be mounted there now, or none.
func (w *World) checkWork(ctx context.Context) error {
	work, err := w.Work(ctx)
	if err == nil {
		err = work.Check()
	}
	return err
}

func (w *World) checkStore(ctx context.Context) error {
	objects, err := w.Uploads(ctx)
	if err == nil {
		err = objects.Check(ctx)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%s is not there", w.rows["store"])
	}
	return err
}
