package zklive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/entries"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/ids"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/permits"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/queries"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/queues"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/rings"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/statuses"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/submitters"
	"github.com/accession-ingest/accession/eventstore/zklive/recovery"
	"github.com/accession-ingest/accession/internal/crash"
)

// Config says where the tree is and how to use it.
type Config struct {
	// Servers are host:port of the ZooKeeper servers.
	Servers []string
	// Root is the node that contains the whole tree, such as /accession. It is made
	// when it is missing.
	Root string
	// SessionTimeout after which a silent process loses its claims. Default 10 s;
	// ZooKeeper bounds it to 2–20 of its ticks.
	SessionTimeout time.Duration
	// Shards of the outbox, fixed when the tree is made. Default 4.
	Shards int
	// Grace is how long sent outbox items are kept, at most 4,000 of a shard. Default
	// a day.
	Grace time.Duration
	// BucketSize is how many entries an outbox bucket takes. Default 4,000.
	BucketSize int64
	// QueueLimit is how many jobs may be in one state before the making of jobs
	// is refused. Default 50,000.
	QueueLimit int
	// HeapLimit is how many bytes of the server's heap the jobs, batches and outbox may
	// take, estimated, before the making of jobs is refused. 0 = any number.
	HeapLimit int64
	// GroupCommit lets decisions and claims that wait at the same moment share a
	// multi. Off: each has its own.
	GroupCommit bool
	// RelayHints lets the relay of this process have what the process itself writes
	// without reading it from ZooKeeper.
	RelayHints bool
	// DepositQueues is what the configuration says of each deposit queue.
	DepositQueues map[string]settings.Values
	// Restoring lets a tree be opened that is being restored, or that is lost.
	Restoring bool
	// CheckNew is called before the use of a tree that is missing or has never been
	// written to; if it returns an error, Open returns it and creates nothing.
	// Optional.
	CheckNew func(ctx context.Context) error
	// Roles are shown to operators beside the worker's id, and so are the Daemons that have
	// workers in this process, and its Timeouts, see [eventstore.WorkerInfo].
	Roles, Daemons []string
	Timeouts       *eventstore.FileTimeouts
	// Logger receives what an operator should know. Default: discard.
	Logger *slog.Logger
	// Written returns the command of an event in the log, "" = there is no such event;
	// it helps to settle an unknown outcome. Optional.
	Written func(ctx context.Context, a domain.Aggregate, version int64) (commandID string, err error)
}

func (c Config) withDefaults() Config {
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.Shards = cmp.Or(c.Shards, 4)
	c.Grace = cmp.Or(c.Grace, 24*time.Hour)
	c.BucketSize = cmp.Or(c.BucketSize, crash.Bucket(4000))
	c.QueueLimit = cmp.Or(c.QueueLimit, 50_000)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Root = strings.TrimSuffix(c.Root, "/")
	return c
}

// Store is the live state in ZooKeeper. Each of its parts implements a part of the
// ports of eventstore, which document the promises. It is safe for concurrent use.
type Store struct {
	*reader
	*ids.IDs
	*recovery.HighWaterMark
	*holds
	*committer
	*remover
	*claims
	*jobQueues
	*batchIndex
	*outbox
	*leaders
	*space
	*permits.Hosts
	*queues.Settings
	*rings.Rings
	*queries.Directory
	*entries.Entries
	*unreadable
	*recovery.Inspector
	*recovery.Restorer

	cfg     Config
	root    layout.Root
	session *session.Session
	unended *statuses.Unended
}

var (
	_ eventstore.Live      = (*Store)(nil)
	_ eventstore.Claims    = (*Store)(nil)
	_ eventstore.Outbox    = (*Store)(nil)
	_ eventstore.Space     = (*Store)(nil)
	_ eventstore.Objects   = (*Store)(nil)
	_ eventstore.Hosts     = (*Store)(nil)
	_ eventstore.Rings     = (*Store)(nil)
	_ eventstore.Inspector = (*Store)(nil)
	_ eventstore.Restorer  = (*Store)(nil)
)

// Open connects, makes what is missing of the tree and registers a worker. It
// waits for ZooKeeper until ctx ends.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if cfg.Root != "" && (!strings.HasPrefix(cfg.Root, "/") || strings.Contains(cfg.Root, "//")) {
		return nil, fmt.Errorf("the ZooKeeper root %q must start with one slash, such as /accession", cfg.Root)
	}
	s := &Store{cfg: cfg, root: layout.Root(cfg.Root), unreadable: &unreadable{}}
	s.claims = newClaims(cfg.Logger)
	var err error
	s.session, err = session.Dial(session.Config{Servers: cfg.Servers, Root: s.root, Timeout: cfg.SessionTimeout,
		Shown:  eventstore.WorkerInfo{Roles: cfg.Roles, Daemons: cfg.Daemons, Timeouts: cfg.Timeouts},
		Logger: cfg.Logger, OnLost: s.claims.lost, OnBegin: s.claims.offerOrphans})
	if err != nil {
		return nil, err
	}
	if err = s.compose(ctx); err == nil {
		err = s.session.Register(ctx)
	}
	if err == nil {
		s.session.Spawn(s.watchWorkers)
		err = s.Restorer.Usable(ctx) // again: a restore that began meanwhile has not seen this worker
	}
	if err != nil {
		s.session.Close()
		return nil, err
	}
	return s, nil
}

// compose makes what is missing of the tree, unless it is lost or being restored, and
// puts the parts of the store together.
func (s *Store) compose(ctx context.Context) error {
	conn := s.session.Conn
	s.reader = &reader{conn: conn, root: s.root}
	s.unended = statuses.NewUnended(conn, s.root, s.cfg.QueueLimit)
	s.Inspector = recovery.NewInspector(conn, s.root)
	s.Restorer = recovery.NewRestorer(s.session, s.root, s.cfg.Restoring)
	if err := s.fresh(ctx); err != nil {
		return err
	}
	if err := s.checkFormat(ctx); err != nil {
		return err
	}
	if err := s.makeTree(ctx); err != nil {
		return s.openError(err)
	}
	if err := s.Restorer.Usable(ctx); err != nil {
		return err
	}
	format, err := s.Restorer.Format(ctx)
	if err != nil {
		return s.openError(err)
	}
	s.reader.compact = format.Compact()
	if s.outbox, err = newOutbox(ctx, conn, s.root, s.cfg, s.Restorer.Epoch); err != nil {
		return err
	}
	s.IDs = ids.New(conn, s.root)
	s.HighWaterMark = recovery.NewHighWaterMark(conn, s.root)
	s.holds = newHolds(s.reader, s.unreadable, s.cfg.Logger)
	cache := statuses.NewCache(conn, s.root)
	s.leaders = &leaders{session: s.session, root: s.root, outbox: s.outbox, mutexes: map[string]chan struct{}{}}
	s.space = &space{conn: conn, reader: s.reader, leaders: s.leaders}
	s.Hosts = permits.New(s.session, s.root)
	s.Settings = queues.New(conn, s.root, s.cfg.DepositQueues, s.cfg.Logger, s.unreadable.set)
	s.Directory = queries.New(conn, s.root)
	s.Entries = entries.New(s.session, s.root, s.holds.waitOpen, s.cfg.Logger)
	s.Rings = rings.New(s.session, s.root, s.Settings, s.holds.waitOpen, format.Rings(), s.cfg.Logger)
	var send sender = &session.Direct{Conn: conn, Outbox: s.outbox.additions}
	if s.cfg.GroupCommit {
		send = session.NewGroup(send.(*session.Direct))
	}
	claimer := &claimer{holds: s.holds, unreadable: s.unreadable, log: s.cfg.Logger, closed: conn.Context()}
	from := submitters.New(s.reader.conn, s.reader.root)
	s.jobQueues = newJobQueues(s.reader, s.claims, claimer, from)
	s.batchIndex = newBatchIndex(s.reader, s.claims, claimer, from)
	s.claims.compose(s.reader, s.session, send, s.holds, cache, s.jobQueues, s.batchIndex)
	s.committer = &committer{reader: s.reader, send: send, outbox: s.outbox, claims: s.claims, holds: s.holds, queues: s.Settings, statuses: cache,
		jobs: s.jobQueues, batches: s.batchIndex, rings: s.Rings, entries: s.Entries, queueLimit: s.cfg.QueueLimit, heapLimit: s.cfg.HeapLimit, inLog: s.cfg.Written}
	s.remover = &remover{conn: conn, reader: s.reader, jobs: s.jobQueues, batches: s.batchIndex, statuses: cache, unreadable: s.unreadable, log: s.cfg.Logger}
	return nil
}

// sender brings writes to the server: session.Direct, or session.Group.
type sender interface {
	Send(ctx context.Context, r *session.Request) session.Result
	Flush(ctx context.Context) error
}

// openError returns the error for a tree that cannot be read or made.
func (s *Store) openError(err error) error {
	return &eventstore.Error{Op: "open zookeeper " + strings.Join(s.cfg.Servers, ","), Err: err,
		Hint: "is it running, and may this process write below " + s.cfg.Root + "/?"}
}

// fresh checks that a tree which has never been written to may be used: a tree that was
// lost looks the same.
func (s *Store) fresh(ctx context.Context) error {
	if s.cfg.Restoring || s.cfg.CheckNew == nil {
		return nil
	}
	untouched, err := s.Untouched(ctx)
	if err != nil {
		return s.openError(err)
	}
	if untouched {
		err = s.Restorer.Usable(ctx)
	}
	if err != nil || !untouched {
		return err
	}
	refused := s.cfg.CheckNew(ctx)
	if refused == nil {
		return nil
	}
	// Events reach the log after the tree, so that a second look at the tree shows
	// whether another process has begun to use it meanwhile.
	if untouched, err = s.Untouched(ctx); err == nil && !untouched {
		return nil
	}
	return refused
}

// makeTree makes the directories of the tree. Each is made on its own; a process that
// dies in between is finished by the next.
func (s *Store) makeTree(ctx context.Context) error {
	for _, dir := range s.root.Dirs() {
		if err := s.session.Ensure(ctx, dir, nil); err != nil {
			return err
		}
	}
	if err := s.makeObjectDirs(ctx); err != nil {
		return err
	}
	if err := s.makeFormat(ctx); err != nil {
		return err
	}
	for _, queue := range layout.RingQueues {
		if err := s.session.Ensure(ctx, s.root.Ring(queue), layout.Encode(eventstore.RingState{NextSlot: 1})); err != nil {
			return err
		}
	}
	for _, number := range []string{s.root.Epoch(), s.root.IDs("bid"), s.root.IDs("jid"), s.root.IDs("query"), s.root.IDs("entry")} {
		if err := s.session.Ensure(ctx, number, layout.Encode(1)); err != nil {
			return err
		}
	}
	return s.session.Ensure(ctx, s.root.HighWater(), layout.Encode(0))
}

// makeFormat writes down the format of a new tree, before the numbers of ids. A tree that
// has these without a format was made by a program that knew only the first: it stays so,
// because such programs may use it beside this one.
func (s *Store) makeFormat(ctx context.Context) error {
	f := eventstore.Format{Reads: eventstore.FormatNow, Writes: eventstore.FormatNow}
	made, err := s.session.Exists(ctx, s.root.IDs("jid"))
	if err != nil {
		return err
	}
	if made != nil {
		f = eventstore.Format{Reads: 1, Writes: 1}
	}
	return s.session.Ensure(ctx, s.root.Format(), layout.Encode(f))
}

// makeObjectDirs makes those of the directories of object entries that are missing, all in
// one multi: without its directory no job of an object can be named.
func (s *Store) makeObjectDirs(ctx context.Context) error {
	for {
		there, err := s.session.List(ctx, s.root.Objects())
		if err != nil {
			return err
		}
		missing := slices.DeleteFunc(s.root.ObjectDirs(), func(dir string) bool { return slices.Contains(there, path.Base(dir)) })
		if len(missing) == 0 {
			return nil
		}
		if _, err = s.session.Multi(ctx, "zklive/tree/make-objects", layout.MakeNodes(missing)); !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		if err := s.session.Sync(ctx); err != nil { // another process made them meanwhile
			return err
		}
	}
}

// checkFormat returns an error if a newer program has changed the tree so that this one
// cannot serve it. Nothing was written then.
func (s *Store) checkFormat(ctx context.Context) error {
	var f eventstore.Format
	if _, err := s.session.GetJSON(ctx, s.root.Format(), &f); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return f.Check("the tree below " + string(s.root) + "/")
}

// Close ends the session, which releases all locks of this process.
func (s *Store) Close() error {
	s.session.Close()
	return nil
}

// WorkerID returns the name of the present session's worker, "" when there is none.
func (s *Store) WorkerID() string { return s.session.WorkerID() }

// Sessions reports whether there is a session now, and how many were lost.
func (s *Store) Sessions() (live bool, lost int64) { return s.session.Sessions() }

// watchWorkers wakes the indexes when a worker begins or ends: the locks of one that
// has ended are free.
func (s *Store) watchWorkers() {
	for ctx := s.session.Context(); ctx.Err() == nil; {
		workers, _ := s.session.WatchChildren(ctx, s.root.Workers())
		select {
		case <-workers.Watch:
			s.jobQueues.requeueAside()
			s.batchIndex.requeueAside()
		case <-time.After(refreshEvery):
		case <-ctx.Done():
		}
	}
}

// Observe implements eventstore.Claims.
func (s *Store) Observe(r domain.Recorded) {
	switch r.Aggregate.Kind {
	case domain.KindJob:
		s.jobQueues.observe(r)
	case domain.KindQuery:
		s.Rings.Observe(r)
	case domain.KindEntry:
		s.Entries.Observe(r)
	case domain.KindBatch:
		if m, ok := domain.MoveOfBatch(r.Data); ok {
			s.batchIndex.submitters.Observe(r)
			id := domain.BatchID(r.Aggregate.ID)
			s.batchIndex.moved(id, eventstore.Phase(m.To, m.Ticket), r.Version, s.claims.has(r.Aggregate))
			s.Rings.Observe(r)
			s.committer.statuses.DropOlder(id, r.Version)
		}
	}
}

// Overview returns a summary of the live state for operators.
func (s *Store) Overview(ctx context.Context) (o eventstore.Overview, err error) {
	load, err := s.Load(ctx)
	if err != nil {
		return o, err
	}
	o.Queues, o.Batches, o.Jobs, o.Heap = load.Queues, load.Batches, load.Jobs, load.Heap
	if o.Workers, err = s.Workers(ctx); err != nil {
		return o, err
	}
	if o.Outbox, err = s.Depth(ctx); err != nil {
		return o, err
	}
	_, err = s.session.GetJSON(ctx, s.root.Epoch(), &o.Epoch)
	return o, err
}

// Workers returns the live sessions.
func (s *Store) Workers(ctx context.Context) (workers []eventstore.WorkerInfo, err error) {
	found, err := s.session.Children(ctx, s.root.Workers())
	for _, id := range found.Names {
		var w eventstore.WorkerInfo
		if _, err := s.session.GetJSON(ctx, s.root.Worker(id), &w); errors.Is(err, zk.ErrNoNode) {
			continue
		} else if err != nil {
			return nil, err
		}
		workers = append(workers, w)
	}
	return workers, err
}
