package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/internal/crash"
)

// Config names the servers, and describes this process.
type Config struct {
	Servers []string
	Root    layout.Root
	Timeout time.Duration         // after which a silent session ends
	Shown   eventstore.WorkerInfo // what the worker's node has beside ID, host, process and time
	Logger  *slog.Logger
	// OnLost is called when a session is lost, with the lock of the session held, and
	// OnBegin in a goroutine of its own when there is a new worker.
	OnLost, OnBegin func()
}

// Worker is the identity of one ZooKeeper session: the fence /workers/ID is an
// ephemeral node, which ends with the session.
type Worker struct {
	ID      string
	Lost    chan struct{} // closed when the session is gone
	session int64
}

// Session is a connection and its present worker.
type Session struct {
	*Conn
	cfg        Config
	contact    *contact
	events     chan zk.Event
	worker     *Worker       // nil while there is no session
	registered chan struct{} // closed when worker is set
	losses     int64
}

// Dial connects. There is no worker before Register.
func Dial(cfg Config) (*Session, error) {
	s := &Session{Conn: &Conn{root: cfg.Root}, cfg: cfg, events: make(chan zk.Event, 1), registered: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.contact = newContact(cfg.Timeout, func() {
		if s.WorkerID() != "" {
			cfg.Logger.Warn("no zookeeper server has answered for almost as long as the session lives without: what runs under it is cut off", "worker", s.WorkerID())
		}
	})
	var err error
	s.conn, _, err = zk.Connect(cfg.Servers, cfg.Timeout, zk.WithDialer(dialer(cfg.Timeout, s.contact)), zk.WithLogInfo(false), zk.WithLogger(discardLogger{}),
		zk.WithEventCallback(func(e zk.Event) {
			if e.Type != zk.EventSession || e.State != zk.StateHasSession && e.State != zk.StateExpired {
				return
			}
			if e.State == zk.StateExpired {
				s.lose()
			}
			select {
			case s.events <- e:
			default: // keepRegistered reads the state, not the event
			}
		}))
	if err != nil {
		s.contact.stop()
		return nil, fmt.Errorf("zookeeper %s: %w", strings.Join(cfg.Servers, ","), err)
	}
	return s, nil
}

type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// Register keeps a worker for the present session from now on, and waits for the
// first.
func (s *Session) Register(ctx context.Context) error {
	s.Spawn(s.keepRegistered)
	_, err := s.Worker(ctx)
	return err
}

// Close ends the session, which releases all locks of this process.
func (s *Session) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.lose()
	s.contact.stop()
	s.conn.Close()
	s.done.Wait()
}

// WorkerID returns the name of the present worker, "" when there is none.
func (s *Session) WorkerID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker == nil {
		return ""
	}
	return s.worker.ID
}

// Sessions reports whether there is a session now that cannot have ended, and how many
// were lost.
func (s *Session) Sessions() (live bool, lost int64) {
	silent := Closed(s.Silent())
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker != nil && !silent, s.losses
}

// Silent returns a channel that is closed before the servers may have ended the session
// because they had no request of it for too long. It is another channel when they have
// answered again. That the session was lost is known only when a server says so, and
// meanwhile another process may hold what was this one's.
func (s *Session) Silent() <-chan struct{} { return s.contact.now() }

// Timeout returns how long a silent session lives.
func (s *Session) Timeout() time.Duration { return s.cfg.Timeout }

// Worker waits for a registered worker.
func (s *Session) Worker(ctx context.Context) (*Worker, error) {
	for {
		s.mu.Lock()
		w, registered := s.worker, s.registered
		s.mu.Unlock()
		if w != nil {
			return w, nil
		}
		select {
		case <-registered:
		case <-ctx.Done():
			return nil, fmt.Errorf("no zookeeper session: %w", ctx.Err())
		case <-s.ctx.Done():
			return nil, fmt.Errorf("the store is closed: %w", eventstore.ErrFenced)
		}
	}
}

// lose ends the present worker: every claim under it is void.
func (s *Session) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker == nil {
		return
	}
	close(s.worker.Lost)
	if s.ctx.Err() == nil {
		s.losses++
		s.cfg.Logger.Warn("zookeeper session lost", "worker", s.worker.ID)
	}
	s.worker, s.registered = nil, make(chan struct{})
	s.cfg.OnLost()
}

// keepRegistered keeps a worker node for the present session.
func (s *Session) keepRegistered() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	next := &Worker{}
	silence, found := silence{log: s.cfg.Logger, limit: s.cfg.Timeout}, make(chan condition, 1)
	for {
		answers := s.conn.State() == zk.StateHasSession
		if silence.note(answers, time.Now()) {
			s.Spawn(func() { s.tellWhy(found) })
		}
		if answers {
			s.mu.Lock()
			have := s.worker
			s.mu.Unlock()
			if id := s.conn.SessionID(); have == nil || have.session != id {
				s.lose()
				if next.session != id {
					next = &Worker{ID: uuid.NewString(), session: id, Lost: make(chan struct{})}
				}
				s.registerWorker(next)
			}
		}
		select {
		case <-s.events:
		case <-tick.C:
		case c := <-found:
			silence.found(c, time.Now())
		case <-s.ctx.Done():
			return
		}
	}
}

// registerWorker registers a worker. When an answer was lost it is tried again under the
// same name: a session has one worker.
func (s *Session) registerWorker(w *Worker) {
	host, _ := os.Hostname()
	path := s.root.Worker(w.ID)
	info := s.cfg.Shown
	info.ID, info.Host, info.PID, info.Since = w.ID, host, os.Getpid(), domain.At(time.Now())
	err := crash.Around("zklive/session/register", func() error {
		_, err := s.conn.Create(path, layout.Encode(info), zk.FlagEphemeral, acl)
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		s.cfg.Logger.Warn("cannot register the worker, trying again", "error", err)
		return
	}
	if _, stat, err := s.conn.Exists(path); err != nil || stat.EphemeralOwner != w.session {
		return // the session ended during the create
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || s.conn.SessionID() != w.session {
		return
	}
	s.worker = w
	s.done.Go(s.cfg.OnBegin)
	close(s.registered)
	s.cfg.Logger.Debug("zookeeper session", "worker", w.ID)
}
