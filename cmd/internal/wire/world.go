package wire

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// openTimeout is how long a server may take to be there when it is first asked
// for.
const openTimeout = 10 * time.Second

// World is everything that the settings name, each part opened when it is first
// asked for. It is app.Resources for the use cases, and what the service is made of.
type World struct {
	cfg   config.Config
	rows  map[string]string // settings as they may be shown
	log   *slog.Logger
	roles []string

	metrics   *ops.Metrics
	restoring bool              // see Restorer
	relay     *eventstore.Relay // nil until asked for; set before the service starts
	runner    *daemon.Runner    // the same

	live     part[*LiveState]
	history  part[*history]
	files    part[*eventstore.FileHandler]
	pool     part[*pgxpool.Pool]
	waiter   part[*query.Waiter]
	objects  part[*store.Store]
	work     part[*store.Work]
	profiles part[*profile.Set]
	requests part[*fetch.Client]
}

// history is the log and the connection it is read through.
type history struct {
	*jslog.Log
	conn *nats.Conn
}

// New makes a world in which nothing is open yet. roles are shown to operators;
// none = a process that only asks.
func New(cfg config.Resolved, log *slog.Logger, roles ...string) *World {
	w := &World{cfg: cfg.Config, rows: map[string]string{}, log: log, roles: roles, metrics: ops.NewMetrics()}
	for _, r := range cfg.Rows() {
		w.rows[r.Key] = r.Value
	}
	return w
}

// Close closes what was opened: PostgreSQL, NATS, then ZooKeeper, so that what is
// seen in ZooKeeper as alive still had the other two.
func (w *World) Close() error {
	closed := func(server string, err error) error {
		w.log.Debug("closed", "server", server)
		return err
	}
	return errors.Join(
		w.pool.close(func(p *pgxpool.Pool) error { p.Close(); return closed(app.ServerPostgres, nil) }),
		w.history.close(func(h *history) error { closeNATS(h.conn); return closed(app.ServerNATS, nil) }),
		w.live.close(func(s *LiveState) error { return closed(app.ServerZooKeeper, s.Close()) }),
		w.objects.close(func(s *store.Store) error { return s.Close() }),
		w.requests.close(func(c *fetch.Client) error { c.Close(); return nil }),
		w.work.close(func(s *store.Work) error { return s.Close() }),
	)
}

// Store gives the live state's adapter.
func (w *World) Store(ctx context.Context) (*LiveState, error) {
	return w.live.get(ctx, func(ctx context.Context) (*LiveState, error) {
		ctx, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		s, err := zklive.Open(ctx, zklive.Config{
			Servers: w.cfg.ZooKeeper, Root: w.cfg.ZooKeeperRoot, SessionTimeout: w.cfg.ZooKeeperSessionTimeout,
			Shards: w.cfg.OutboxShards, Grace: w.cfg.OutboxGrace, QueueLimit: w.cfg.QueueLimit,
			GroupCommit: w.cfg.GroupCommit, RelayHints: w.cfg.RelayHints,
			Roles: w.roles, Logger: w.log, Written: w.written, Restoring: w.restoring, Fresh: w.fresh,
		})
		var known *app.Error
		if errors.Is(err, eventstore.ErrBroken) || errors.As(err, &known) {
			return nil, err
		}
		if err != nil {
			return nil, w.unavailable(app.ServerZooKeeper, err)
		}
		limits := eventstore.Limits{Warn: w.cfg.OutboxWarn, Full: w.cfg.OutboxFull, Stop: w.cfg.OutboxStop, Queue: w.cfg.QueueLimit}
		return &LiveState{Store: s, metrics: w.metrics, pressure: &eventstore.Pressure{Measure: s.Load, Limits: limits, Log: w.log}}, nil
	})
}

// Restorer implements app.LiveState. The live state is opened by it, for the one who
// restores it; it must not be open yet.
func (w *World) Restorer(ctx context.Context) (eventstore.Restorer, error) {
	w.restoring = true
	return w.Store(ctx)
}

// Live implements app.LiveState.
func (w *World) Live(ctx context.Context) (app.Live, error) {
	s, err := w.Store(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Handler implements app.LiveState.
func (w *World) Handler(ctx context.Context) (*eventstore.Handler, error) {
	s, err := w.Store(ctx)
	if err != nil {
		return nil, err
	}
	profiles, err := w.Profiles()
	if err != nil {
		return nil, err
	}
	return &eventstore.Handler{Live: s, Catalog: s, Clock: crash.Now,
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Collection: func(name string) string {
			p, err := profiles.Get(name)
			if err != nil {
				return ""
			}
			return p.Collection
		},
	}, nil
}

// Uploads implements app.Effects.
func (w *World) Uploads(ctx context.Context) (*store.Store, error) {
	return w.objects.get(ctx, func(ctx context.Context) (*store.Store, error) {
		s, err := store.Open(ctx, w.cfg.Store)
		return s, failed("open the object store", err, "the setting store names it: "+w.rows["store"])
	})
}

// Work gives the working directory of the installation.
func (w *World) Work(ctx context.Context) (*store.Work, error) {
	return w.work.get(ctx, func(context.Context) (*store.Work, error) {
		s, err := store.OpenWork(w.cfg.WorkDir, w.cfg.Instance)
		return s, failed("open the working directory", err, "the setting work_dir names it: "+w.cfg.WorkDir)
	})
}

// Profiles implements app.Effects.
func (w *World) Profiles() (*profile.Set, error) {
	return w.profiles.get(context.Background(), func(context.Context) (*profile.Set, error) {
		set, err := profile.Load(w.cfg.ProfilesDir)
		return set, failed("read the profiles", err, "the setting profiles_dir names their directory: "+w.cfg.ProfilesDir+"; `accession config check` tells how to get a first one")
	})
}

// DB implements app.Tables.
func (w *World) DB(ctx context.Context) (query.DB, error) {
	pool, err := w.Pool(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.migrated(ctx, pool, projections.Pending); err != nil {
		return nil, err
	}
	return pool, nil
}

// Records implements app.Effects.
func (w *World) Records(ctx context.Context) (*record.Records, error) {
	pool, err := w.Pool(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.migrated(ctx, pool, record.Pending); err != nil {
		return nil, err
	}
	return record.New(pool), nil
}

// Resources returns what use cases work with.
func (w *World) Resources() app.Resources {
	return app.Resources{LiveState: w, EventLog: w, Tables: w, Effects: w, Servers: []app.Address{
		{Name: app.ServerZooKeeper, URL: w.rows["zookeeper"] + w.cfg.ZooKeeperRoot},
		{Name: app.ServerNATS, URL: w.rows["nats"]},
		{Name: app.ServerPostgres, URL: w.rows["postgres"]},
	}}
}

// unavailable says which server does not answer, and where it was looked for.
func (w *World) unavailable(server string, err error) error {
	return app.NoAnswer(server, err, "is it running? The setting "+server+" says that it is at "+w.rows[server])
}

func failed(what string, err error, hint string) error {
	if err == nil {
		return nil
	}
	return &app.Error{Kind: app.Failed, What: what, Err: err, Hint: hint}
}
