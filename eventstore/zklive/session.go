package zklive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// Config says where the tree is and how to live with it.
type Config struct {
	// Servers are host:port of the ZooKeeper servers.
	Servers []string
	// Root is the node that everything lives under, such as /accession. It is made
	// when it is missing.
	Root string
	// SessionTimeout after which a silent process loses its claims. Default 10 s;
	// ZooKeeper bounds it to 2–20 of its ticks.
	SessionTimeout time.Duration
	// Shards of the outbox, fixed when the tree is made. Default 4.
	Shards int
	// Grace is how long sent outbox nodes are kept. Default 10 s.
	Grace time.Duration
	// BucketSize is how many nodes an outbox bucket takes. Default 4,000.
	BucketSize int64
	// QueueLimit is how many jobs may be in one state before the making of jobs
	// is refused. Default 50,000.
	QueueLimit int
	// GroupCommit lets decisions and claims that wait at the same moment share a
	// multi. Off: each has its own.
	GroupCommit bool
	// RelayHints lets the relay of this process have what the process itself writes
	// without reading it from ZooKeeper.
	RelayHints bool
	// Restoring lets a tree be opened that is being restored, or that is lost.
	Restoring bool
	// Fresh is asked before a tree is used in which nothing ever happened, whether it
	// is there or not; its error refuses, and nothing is made. Optional.
	Fresh func(ctx context.Context) error
	// Roles are shown to operators beside the worker's id.
	Roles []string
	// Logger receives what an operator should know. Default: discard.
	Logger *slog.Logger
	// Written tells whether the log holds a command's event; it helps to find out
	// an unknown outcome. Optional.
	Written func(ctx context.Context, a domain.Aggregate, version int64) (commandID string, err error)
}

func (c Config) withDefaults() Config {
	if c.SessionTimeout == 0 {
		c.SessionTimeout = 10 * time.Second
	}
	if c.Shards == 0 {
		c.Shards = 4
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.BucketSize == 0 {
		c.BucketSize = crash.Bucket(4000)
	}
	if c.QueueLimit == 0 {
		c.QueueLimit = 50_000
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Root = strings.TrimSuffix(c.Root, "/")
	return c
}

// worker is one ZooKeeper session's identity: the fence /workers/ID is an
// ephemeral of that session and goes with it.
type worker struct {
	id      string
	session int64
	lost    chan struct{}
}

// Store is the live state in ZooKeeper. It implements eventstore.Live, Claims
// and Outbox, and is safe for concurrent use.
type Store struct {
	cfg   Config
	conn  *zk.Conn
	paths paths
	log   *slog.Logger

	mu      sync.Mutex
	worker  *worker       // nil while there is no session
	arrived chan struct{} // closed when worker is set
	claimed map[domain.Aggregate]*eventstore.Claim
	doubted map[*eventstore.Claim]bool // of claimed: see doubt
	losses  int64                      // sessions lost since Open
	broken  map[domain.Aggregate]bool  // could not be read when their turn came
	orphans []*eventstore.Claim        // lost with a session, to be offered again under the next
	slots   map[string]chan struct{}   // one place a leader's name
	// epochKnown is 0 until it was read.
	epochKnown int64
	// guarding is the node that this store's restore keeps others out by, "" = none.
	guarding string

	holds   *holdsCache
	queues  *queues
	batches *batchIndex
	// statuses lets claims of jobs prove that their batch is not deleted.
	statuses *statusCache
	outbox   *outboxState
	promises oddPromises
	groups   *groups

	stop context.CancelFunc
	done sync.WaitGroup
	ctx  context.Context
}

// Open connects, makes what is missing of the tree and registers a worker. It
// waits for ZooKeeper until ctx ends.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if cfg.Root != "" && (!strings.HasPrefix(cfg.Root, "/") || strings.Contains(cfg.Root, "//")) {
		return nil, fmt.Errorf("the ZooKeeper root %q must start with one slash, such as /accession", cfg.Root)
	}
	s := &Store{cfg: cfg, paths: paths(cfg.Root), log: cfg.Logger, arrived: make(chan struct{}),
		claimed: map[domain.Aggregate]*eventstore.Claim{}, doubted: map[*eventstore.Claim]bool{}, broken: map[domain.Aggregate]bool{}, slots: map[string]chan struct{}{},
		promises: oddPromises{there: map[domain.JobID]bool{}}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	events := make(chan zk.Event, 64)
	conn, _, err := zk.Connect(cfg.Servers, cfg.SessionTimeout, zk.WithDialer(dialer(cfg.SessionTimeout)), zk.WithLogInfo(false), zk.WithLogger(quiet{}),
		zk.WithEventCallback(func(e zk.Event) {
			if e.Type == zk.EventSession && (e.State == zk.StateHasSession || e.State == zk.StateExpired) {
				if e.State == zk.StateExpired {
					s.lose()
				}
				select {
				case events <- e:
				default: // the registrar looks at the state, not at the event
				}
			}
		}))
	if err != nil {
		return nil, fmt.Errorf("zookeeper %s: %w", strings.Join(cfg.Servers, ","), err)
	}
	s.conn = conn
	s.holds = newHoldsCache(s)
	s.queues = newQueues(s)
	s.batches = newBatchIndex(s)
	s.statuses = &statusCache{s: s, known: map[domain.BatchID]knownStatus{}}
	if err = s.prepare(ctx); err != nil {
		s.stop()
		conn.Close()
		return nil, err
	}
	s.groups = newGroups(s)
	s.goes(func() { s.register(events) })
	s.goes(func() { s.watchWorkers() })
	_, err = s.current(ctx)
	if err == nil {
		err = s.whole(ctx) // again: a restore that began meanwhile has not seen us
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// goes starts a goroutine that Close waits for; after Close none is started.
func (s *Store) goes(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.done.Go(f)
	}
}

// Close ends the session; all locks of this process go with it.
func (s *Store) Close() error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.lose()
	s.conn.Close()
	s.done.Wait()
	return nil
}

// WorkerID names the present session's worker, "" when there is none.
func (s *Store) WorkerID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker == nil {
		return ""
	}
	return s.worker.id
}

// Sessions tells whether there is a session now, and how many were lost.
func (s *Store) Sessions() (live bool, lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker != nil, s.losses
}

// lose gives up the present worker: every claim under it is void.
func (s *Store) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker == nil {
		return
	}
	close(s.worker.lost)
	if s.ctx.Err() == nil {
		s.losses++
		s.log.Warn("zookeeper session lost", "worker", s.worker.id)
	}
	s.worker, s.arrived = nil, make(chan struct{})
	s.orphans = slices.AppendSeq(s.orphans, maps.Values(s.claimed))
	clear(s.claimed)
	clear(s.doubted)
}

// current waits for a registered worker.
func (s *Store) current(ctx context.Context) (*worker, error) {
	for {
		s.mu.Lock()
		w, arrived := s.worker, s.arrived
		s.mu.Unlock()
		if w != nil {
			return w, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, fmt.Errorf("no zookeeper session: %w", ctx.Err())
		case <-s.ctx.Done():
			return nil, fmt.Errorf("the store is closed: %w", eventstore.ErrFenced)
		}
	}
}

// register keeps a worker node for the present session.
func (s *Store) register(events <-chan zk.Event) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	next := &worker{}
	for {
		if s.conn.State() == zk.StateHasSession {
			s.mu.Lock()
			have := s.worker
			s.mu.Unlock()
			if session := s.conn.SessionID(); have == nil || have.session != session {
				if have != nil {
					s.lose()
				}
				if next.session != session {
					next = &worker{id: uuid.NewString(), session: session, lost: make(chan struct{})}
				}
				s.arrive(next)
			}
		}
		select {
		case <-events:
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// arrive registers a worker. When an answer was lost it is tried again under the
// same name: a session has one worker.
func (s *Store) arrive(w *worker) {
	session := w.session
	host, _ := os.Hostname()
	info := encode(eventstore.WorkerInfo{ID: w.id, Host: host, PID: os.Getpid(), Roles: s.cfg.Roles, Since: domain.At(time.Now())})
	crash.Point("zklive/session/before-register")
	_, err := s.conn.Create(s.paths.worker(w.id), info, zk.FlagEphemeral, acl)
	crash.Point("zklive/session/after-register")
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		s.log.Warn("cannot register the worker, trying again", "error", err)
		return
	}
	if _, stat, err := s.conn.Exists(s.paths.worker(w.id)); err != nil || stat.EphemeralOwner != session {
		return // the session changed under the create
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || s.conn.SessionID() != session {
		return
	}
	s.worker = w
	orphans := s.orphans
	s.orphans = nil
	s.done.Go(func() { s.adopt(orphans) })
	close(s.arrived)
	s.log.Debug("zookeeper session", "worker", w.id)
}

// adopt offers the work of lost claims again: nobody else may have seen it fall.
func (s *Store) adopt(orphans []*eventstore.Claim) {
	for _, c := range orphans {
		if c.Aggregate.Kind == domain.KindJob {
			s.queues.offer(s.ctx, domain.JobID(c.Aggregate.ID), 0)
		} else {
			s.batches.released(domain.BatchID(c.Aggregate.ID), 0)
		}
	}
}

// watchWorkers wakes the indexes whenever a worker comes or goes: the locks of
// one that went are free.
func (s *Store) watchWorkers() {
	for s.ctx.Err() == nil {
		_, _, changed, err := s.conn.ChildrenW(s.paths.at("/workers"))
		if err != nil {
			select {
			case <-time.After(200 * time.Millisecond):
			case <-s.ctx.Done():
			}
			continue
		}
		select {
		case <-changed:
			s.queues.wakeAside()
			s.batches.wakeAside()
		case <-s.ctx.Done():
		}
	}
}

var acl = zk.WorldACL(zk.PermAll)

// answered reports whether err is the server's own reply, so that the outcome is
// known: refused.
func answered(err error) bool {
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists),
		errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrInvalidACL),
		errors.Is(err, zk.ErrNoChildrenForEphemerals), errors.Is(err, zk.ErrBadArguments):
		return true
	}
	return false
}

// call runs one client call, which knows no context, under ctx.
func call[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	ch := make(chan answer, 1)
	go func() { v, err := f(); ch <- answer{v, err} }()
	select {
	case a := <-ch:
		return a.v, a.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// read repeats a read until the server answers it or ctx ends.
func read[T any](ctx context.Context, f func() (T, error)) (T, error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		v, err := call(ctx, f)
		if err == nil || answered(err) || ctx.Err() != nil || errors.Is(err, zk.ErrClosing) {
			return v, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return v, err
		}
	}
}
