// Package queues reads the settings of the deposit queues and keeps them.
package queues

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// readParallel is how many settings are read at once.
const readParallel = 64

// Settings keeps the settings of the deposit queues, each as of one version of its
// /queues/Q/config. Every grab proves that version, so that an outdated cache can only
// cause a refused grab.
type Settings struct {
	of map[string]*queue
}

// queue keeps the settings of one queue.
type queue struct {
	name       string
	config     *session.Watched
	conn       *session.Conn
	root       layout.Root
	configured settings.Values
	log        *slog.Logger
	alarm      func(a domain.Aggregate, unreadable bool)

	loading sync.Mutex // one read at a time, the others wait for it
	mu      sync.Mutex
	// known is nil until the first read and after it was found outdated.
	known   *eventstore.QueueSettings
	alarmed []domain.Aggregate // unreadable at the last read
	changed chan struct{}      // closed at each change
}

// New returns the settings of the deposit queues in a tree. configured is what the
// configuration says of each queue; alarm is called when a setting is found unreadable, or
// readable again.
func New(conn *session.Conn, root layout.Root, configured map[string]settings.Values, log *slog.Logger, alarm func(a domain.Aggregate, unreadable bool)) *Settings {
	s := &Settings{of: map[string]*queue{}}
	for _, name := range domain.DepositQueues {
		q := &queue{name: name, conn: conn, root: root, configured: configured[name], log: log, alarm: alarm, changed: make(chan struct{})}
		q.config = conn.Watch(root.QueueConfig(name), q.outdated)
		s.of[name] = q
	}
	return s
}

// QueueSettings implements eventstore.DepositQueues.
func (s *Settings) QueueSettings(ctx context.Context, name string) (eventstore.QueueSettings, error) {
	q := s.of[name]
	if q == nil {
		_, _, err := domain.SplitQueueName(domain.SettingDepositQueue, name)
		return eventstore.QueueSettings{}, &domain.Refused{Aggregate: domain.SettingAggregate(domain.SettingDepositQueue, name), Code: domain.CodeBadName, Message: err.Error()}
	}
	now, err := q.settings(ctx)
	if err != nil {
		return eventstore.QueueSettings{}, &eventstore.Error{Op: "read the settings of the deposit queue " + name, Err: err}
	}
	return *now, nil
}

// QueueSettingsChanged implements eventstore.DepositQueues.
func (s *Settings) QueueSettingsChanged(name string) <-chan struct{} {
	q := s.of[name]
	if q == nil {
		return nil
	}
	_, changed := q.now()
	return changed
}

// Committed drops what a change that was written has outdated.
func (s *Settings) Committed(changed domain.Setting) {
	name, _, err := domain.SplitQueueName(changed.Kind, changed.Name)
	if q := s.of[name]; changed.Kind.OfQueue() && err == nil && q != nil {
		q.outdated()
	}
}

func (q *queue) settings(ctx context.Context) (*eventstore.QueueSettings, error) {
	if known, _ := q.now(); known != nil {
		return known, nil
	}
	q.loading.Lock()
	defer q.loading.Unlock()
	for {
		known, before := q.now()
		if known != nil {
			return known, nil
		}
		known, at, err := q.load(ctx)
		if err != nil {
			return nil, err
		}
		if known != nil && q.keep(known, at, before) {
			return known, nil
		}
	}
}

// now returns the cached settings, and a channel that is closed when they may have
// changed.
func (q *queue) now() (*eventstore.QueueSettings, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.known, q.changed
}

// keep caches what was read, unless it was outdated meanwhile, since before was the
// channel of [queue.now], or a change since would not be heard of.
func (q *queue) keep(known *eventstore.QueueSettings, at session.View, before <-chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if before != q.changed || !q.config.Heard(at) {
		return false
	}
	q.known = known
	return true
}

// outdated drops the cached settings and wakes those who wait for a change.
func (q *queue) outdated() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known = nil
	close(q.changed)
	q.changed = make(chan struct{})
}

// load reads all settings; nil if one of them has changed meanwhile.
func (q *queue) load(ctx context.Context) (known *eventstore.QueueSettings, first session.View, err error) {
	if first, err = q.config.Get(ctx); err != nil {
		return nil, first, err
	}
	all, err := q.list(ctx)
	if err != nil {
		return nil, first, err
	}
	set, unreadable, err := q.read(ctx, all)
	if err != nil {
		return nil, first, err
	}
	now, err := q.conn.Exists(ctx, q.root.QueueConfig(q.name))
	if err != nil || now == nil || now.Version != first.Stat.Version {
		return nil, first, err
	}
	read := eventstore.NewQueueSettings(q.name, eventstore.Token(first.Stat.Version), q.configured, set, unreadable)
	q.report(unreadable)
	return &read, first, nil
}

// list lists the settings that may have a value.
func (q *queue) list(ctx context.Context) (all []domain.Aggregate, err error) {
	nodes, dirs := q.root.QueueSettings(q.name)
	for _, node := range nodes {
		if a, ok := layout.QueueSetting(q.name, "", path.Base(node)); ok {
			all = append(all, a)
		}
	}
	for _, dir := range dirs {
		names, err := q.conn.List(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if a, ok := layout.QueueSetting(q.name, path.Base(dir), name); ok {
				all = append(all, a)
			}
		}
	}
	return all, nil
}

// read reads the values of settings, and returns those that cannot be read.
func (q *queue) read(ctx context.Context, all []domain.Aggregate) (set settings.Values, unreadable []domain.Aggregate, err error) {
	var mu sync.Mutex
	set = settings.New()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readParallel)
	for _, a := range all {
		g.Go(func() error {
			kind, name := domain.SettingOf(a)
			n, err := q.conn.Find(gctx, q.root.SettingValue(kind, name))
			if n == nil {
				return err // nil: it was removed meanwhile, or was never set
			}
			v, _, err := q.root.ValueOf(kind, name, n.Data, time.UnixMilli(n.Stat.Ctime))
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, eventstore.ErrBroken) {
				unreadable = append(unreadable, a)
				return nil
			}
			set.Set(kind, name, v)
			return err
		})
	}
	err = g.Wait()
	slices.SortFunc(unreadable, func(a, b domain.Aggregate) int { return strings.Compare(a.ID, b.ID) })
	return set, unreadable, err
}

// report raises an alarm for each setting that has become unreadable, and ends those of
// the others.
func (q *queue) report(unreadable []domain.Aggregate) {
	q.mu.Lock()
	was := q.alarmed
	q.alarmed = unreadable
	q.mu.Unlock()
	for _, a := range unreadable {
		if !slices.Contains(was, a) {
			q.alarm(a, true)
			kind, name := domain.SettingOf(a)
			q.log.Error("a setting cannot be read; its deposit queue counts as suspended until `accession verify --repair` has written it again",
				"queue", q.name, "kind", kind, "name", name, "node", q.root.SettingValue(kind, name))
		}
	}
	for _, a := range was {
		if !slices.Contains(unreadable, a) {
			q.alarm(a, false)
		}
	}
}
