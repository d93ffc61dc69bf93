package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

// Options of a server.
type Options struct {
	Shards int   // of the outbox; 0 = 4
	Clock  Clock // nil = the system's
	// DepositQueues is what the configuration says of each deposit queue.
	DepositQueues map[string]settings.Values
}

// Server is the live state that several processes share.
type Server struct {
	clock Clock

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	zxid     int64
	lastBID  int64
	lastJID  int64
	sessions int
	batches  map[domain.BatchID]*register[domain.Batch]
	jobs     map[domain.JobID]*register[domain.Job]
	asked    map[domain.QueryID]*register[lookup.Query]
	lastQID  int64
	entries  map[compute.ID]*register[compute.Entry]
	lastEID  int64
	settings map[domain.Aggregate]*register[domain.Setting]
	refs     map[domain.BatchID]map[domain.JobID]domain.Sub
	holds    eventstore.Holds
	locks    map[domain.Aggregate]*eventstore.Claim
	renewed  map[domain.Aggregate]time.Time // leases of entries
	claims   map[domain.Aggregate]int       // since the last event or Release
	shards   []shard
	rings    map[string]*eventstore.RingState // of the deposit queues
	space    *leader                          // of provisioning, nil = there is no leader

	spaceTerm eventstore.Token // of its last lead
	profiles  eventstore.Token // changes of profiles

	permits permits
	queues  queueSettings
}

// register holds one state under compare-and-set.
type register[S any] struct {
	state S
	token eventstore.Token
}

func (r *register[S]) loaded() eventstore.Loaded[S] {
	return eventstore.Loaded[S]{State: r.state, Token: r.token}
}

// New returns an empty server.
func New(o Options) *Server {
	if o.Shards == 0 {
		o.Shards = 4
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return &Server{
		clock:    o.Clock,
		changed:  make(chan struct{}),
		batches:  map[domain.BatchID]*register[domain.Batch]{},
		jobs:     map[domain.JobID]*register[domain.Job]{},
		asked:    map[domain.QueryID]*register[lookup.Query]{},
		entries:  map[compute.ID]*register[compute.Entry]{},
		settings: map[domain.Aggregate]*register[domain.Setting]{},
		refs:     map[domain.BatchID]map[domain.JobID]domain.Sub{},
		holds:    eventstore.Holds{Collections: map[string]domain.Hold{}, Queues: map[string]domain.Hold{}},
		locks:    map[domain.Aggregate]*eventstore.Claim{},
		renewed:  map[domain.Aggregate]time.Time{},
		claims:   map[domain.Aggregate]int{},
		shards:   make([]shard, o.Shards),
		rings:    map[string]*eventstore.RingState{},
		permits:  permits{taken: map[permit]string{}, space: map[domain.FileHash]filePromise{}, now: map[*Store]session{}},
		queues:   queueSettings{configured: o.DepositQueues, version: map[string]eventstore.Token{}},
	}
}

// Store is the session of one process. It implements eventstore.Live, Catalog, Claims,
// Outbox, Space, Objects and Hosts, and is safe for concurrent use.
type Store struct {
	server *Server
	// Guarded by the server's mutex:
	worker string
	lost   chan struct{}
	aside  map[domain.Aggregate]time.Time // released with a delay, and until when
	behind map[domain.Aggregate]string    // the id behind which one comes that was released so
	number int                            // of claims, for their ids
	lines  map[string]*fair.Line          // of what waits, as this process knows it
}

var (
	_ eventstore.Live    = (*Store)(nil)
	_ eventstore.Catalog = (*Store)(nil)
	_ eventstore.Claims  = (*Store)(nil)
	_ eventstore.Outbox  = (*Store)(nil)
)

// Session returns a further process its store.
func (srv *Server) Session() *Store {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s := &Store{server: srv}
	s.begin()
	return s
}

func (s *Store) begin() {
	s.server.sessions++
	s.worker = fmt.Sprintf("worker-%d", s.server.sessions)
	s.lost = make(chan struct{})
	s.aside, s.behind, s.lines = map[domain.Aggregate]time.Time{}, map[domain.Aggregate]string{}, map[string]*fair.Line{}
	s.server.permits.begin(s)
}

// Expire ends the session of a store: its locks and leads are free, its claims
// are lost. The store goes on with a new session.
func (srv *Server) Expire(s *Store) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	maps.DeleteFunc(srv.locks, func(_ domain.Aggregate, c *eventstore.Claim) bool { return c.Worker == s.worker })
	leads := []**leader{&srv.space}
	for i := range srv.shards {
		leads = append(leads, &srv.shards[i].leader)
	}
	for _, l := range leads {
		if *l != nil && (*l).worker == s.worker {
			(*l).cancel()
			*l = nil
		}
	}
	srv.permits.end(s.worker)
	close(s.lost)
	s.begin()
	srv.signal()
}

// signal wakes all that wait. The mutex is held.
func (srv *Server) signal() {
	close(srv.changed)
	srv.changed = make(chan struct{})
}

// wait calls try, with the mutex held, whenever something changed here or, unless more
// is nil, there, until it reports that it is done or ctx ends.
func (srv *Server) wait(ctx context.Context, more func() <-chan struct{}, try func() bool) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var there <-chan struct{}
		if more != nil {
			there = more()
		}
		srv.mu.Lock()
		done, changed := try(), srv.changed
		srv.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-there:
		case <-ctx.Done():
		}
	}
}

func failed(op string, a domain.Aggregate, err error, hint string) error {
	var known *eventstore.Error
	if errors.As(err, &known) {
		return err
	}
	return &eventstore.Error{Op: op, Aggregate: a, Err: err, Hint: hint}
}
