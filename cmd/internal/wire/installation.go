package wire

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/cmd/internal/daemon/outgoing"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/relay"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Installation has all parts that the settings name, each opened on first use. Use
// cases get its Resources; the service gets its daemons, relay, sweeper and projector.
type Installation struct {
	cfg   config.Config
	shown map[string]string // settings without secrets
	from  map[string]string // their origins
	log   *slog.Logger
	roles []string
	// Version is that of the program, which servers of others are told.
	Version string

	metrics   *ops.Metrics
	restoring bool           // see Restorer
	relay     *relay.Relay   // nil until Relay; set before the service starts
	runner    *daemon.Runner // nil until Daemons; the same

	sender atomic.Pointer[outgoing.Sender] // nil until Mails

	live     lazy[*LiveState]
	copies   lazy[struct{}] // checked
	events   lazy[*eventLog]
	files    lazy[*files.Handler]
	pool     lazy[*pgxpool.Pool]
	waiter   lazy[*query.Waiter]
	objects  lazy[*store.Store]
	stores   lazy[*stores]
	work     lazy[*store.Work]
	drop     lazy[*drop.Folder]
	profiles lazy[*profile.Set]
	requests lazy[*fetch.Client]

	profilesSet atomic.Int64              // how often this process has set a profile
	setReader   atomic.Pointer[LiveState] // of the profiles that are set, nil = the live state is not open
}

// New returns an installation in which nothing is open yet. roles are shown to
// operators; a process that does not serve has none.
func New(cfg config.Resolved, log *slog.Logger, roles ...string) *Installation {
	in := &Installation{cfg: cfg.Config, shown: map[string]string{}, from: map[string]string{}, log: log, roles: roles, metrics: ops.NewMetrics()}
	for _, r := range cfg.Rows() {
		in.shown[r.Name], in.from[r.Name] = r.Value, r.Origin
	}
	return in
}

// Close closes what was opened: PostgreSQL, NATS, then ZooKeeper, so that a process
// that ZooKeeper shows as alive has the other two.
func (in *Installation) Close() error {
	closed := func(server string, err error) error {
		in.log.Debug("closed", "server", server)
		return err
	}
	return errors.Join(
		in.pool.close(func(p *pgxpool.Pool) error { p.Close(); return closed(app.ServerPostgres, nil) }),
		in.events.close(func(l *eventLog) error { l.close(); return closed(app.ServerNATS, nil) }),
		in.live.close(func(s *LiveState) error {
			in.setReader.Store(nil)
			return closed(app.ServerZooKeeper, s.Close())
		}),
		in.stores.close((*stores).close),
		in.objects.close((*store.Store).Close),
		in.requests.close(func(c *fetch.Client) error { c.Close(); return nil }),
		in.work.close((*store.Work).Close),
		in.drop.close((*drop.Folder).Close),
	)
}

// Check opens everything that the roles of this process need. It refuses a database
// whose tables are older than this program, and a log that lost events that they have.
func (in *Installation) Check(ctx context.Context) error {
	err := openAll(ctx, opening(in.DB), opening(in.Log), opening(in.Handler))
	if err != nil {
		return err
	}
	db, err := in.DB(ctx)
	if err != nil {
		return err
	}
	missing, err := query.MissingDefinitions(ctx, db)
	if err != nil {
		return err
	}
	for _, m := range missing {
		in.log.Error("the database lacks what the migrations make: `accession verify` names the remedy", "name", m.Name, "lacks", strings.Join(m.Parts, ", "))
	}
	return nil
}

// Handler implements app.LiveState. It writes, and refuses servers that are older copies.
func (in *Installation) Handler(ctx context.Context) (*eventstore.Handler, error) {
	if err := in.checkCopies(ctx); err != nil {
		return nil, err
	}
	return in.handler(ctx)
}

// Repairer implements app.LiveState.
func (in *Installation) Repairer(ctx context.Context) (*eventstore.Handler, error) {
	var older *consistency.Older
	if err := in.checkCopies(ctx); err != nil && (!errors.As(err, &older) || older.Code == consistency.TreeOlder || older.Code == consistency.LogOlder) {
		return nil, err
	}
	return in.handler(ctx)
}

func (in *Installation) handler(ctx context.Context) (*eventstore.Handler, error) {
	var live *LiveState
	var profiles *profile.Set
	if err := openAll(ctx, into(&live, in.LiveState), into(&profiles, in.profileSet)); err != nil {
		return nil, err
	}
	return &eventstore.Handler{Live: live, Catalog: live, Rings: live, Queries: live, Entries: live, Leases: live, Profiles: live, Clock: crash.Now, NewID: newID,
		Collection: func(name string) string {
			p, err := profiles.Get(name)
			if err != nil {
				return ""
			}
			return p.Collection
		},
	}, nil
}

// FileHandler implements app.LiveState. There is one handler in a process, so that all share
// what it remembers of files. It writes to the log, and refuses one that lost events.
func (in *Installation) FileHandler(ctx context.Context) (*files.Handler, error) {
	return in.files.get(ctx, func(ctx context.Context) (*files.Handler, error) {
		var log eventstore.Log
		var live *LiveState
		if err := openAll(ctx, into(&log, in.Log), in.checkCopies, into(&live, in.LiveState)); err != nil {
			return nil, err
		}
		now, err := live.Overview(ctx)
		if err != nil {
			return nil, in.unavailable(app.ServerZooKeeper, err)
		}
		files := &files.Handler{Log: log, Clock: crash.Now, Epoch: now.Epoch, NewID: newID}
		in.metrics.Discoveries(files.Duplicates)
		return files, nil
	})
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Uploads implements app.Effects.
func (in *Installation) Uploads(ctx context.Context) (*store.Store, error) {
	return in.objects.get(ctx, func(ctx context.Context) (*store.Store, error) {
		s, err := store.Open(ctx, in.cfg.Store)
		return s, failed("open the object store", err, "the setting store names it: "+in.shown["store"])
	})
}

// Resources returns what use cases work with.
func (in *Installation) Resources() app.Resources {
	return app.Resources{LiveState: in, EventLog: in, Tables: in, Effects: in, DepositQueues: in.DepositQueues, Attempts: in.attempts, Work: in.Work, Drop: in.Drop, UploadLimit: int64(in.cfg.UploadLimit), WaitingLimit: in.cfg.WaitingLimit, FormsProfile: in.cfg.FormsProfile,
		HostPermits: in.cfg.HostPermits, MailFrom: in.cfg.MailFrom, ResendAnswers: in.resendAnswers, Heap: in.heap, Servers: []app.Address{
			{Name: app.ServerZooKeeper, URL: in.shown["zookeeper"] + in.cfg.ZooKeeperRoot},
			{Name: app.ServerNATS, URL: in.shown["nats"]},
			{Name: app.ServerPostgres, URL: in.shown["postgres"]},
		}, SubmitterPermits: in.cfg.SubmitterPermits, Timeouts: in.shownTimeouts, WorkFiles: in.WorkFiles, Requests: in.client}
}

// unavailable is the error of a server that does not answer at its address.
func (in *Installation) unavailable(server string, err error) error {
	return app.NoAnswer(server, err, "is it running? The setting "+server+" says that it is at "+in.shown[server])
}

// failed is the error of something that cannot be opened, nil when err is.
func failed(what string, err error, hint string) error {
	if err == nil {
		return nil
	}
	return &app.Error{Kind: app.Failed, What: what, Err: err, Hint: hint}
}

// heapGrowth is how much a service's heap may grow between two collections, in
// percent of what is live, and enoughHeap where it stops to grow so freely. What is
// live is small and bounded, and each transition leaves garbage: collecting at twice
// the live heap took a fifth of the CPU, at five times still a tenth.
const (
	heapGrowth = 1000
	enoughHeap = 1 << 30
)

// TuneMemory sets how often garbage is collected, unless the variables GOGC and
// GOMEMLIMIT do.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(enoughHeap)
	}
}
