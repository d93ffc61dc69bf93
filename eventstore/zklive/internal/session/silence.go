package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-zookeeper/zk"
)

// condition is what a second connection finds while no server takes the session.
type condition int

const (
	// unknown: it could not be found out.
	unknown condition = iota
	// away: no server answers.
	away
	// refused: a server answers and has the tree, and does not take the session.
	refused
	// emptied: a server answers and has no tree.
	emptied
)

// says is what the log says of a condition.
var says = map[condition]string{
	away:    "zookeeper does not answer; nothing can be claimed or changed until it does",
	refused: "zookeeper answers others and refuses this session: its data is older than what this process has seen. Nothing can be claimed or changed; restart this process: it then says what is wrong",
	emptied: "zookeeper answers, and the tree of the installation is gone: its data was lost, or it is another server's. Nothing can be claimed or changed; stop this process, put the data back or restore the tree from the log",
}

// silence logs why no server has taken the session for as long as it lives, and what
// changes then.
type silence struct {
	log   *slog.Logger
	limit time.Duration

	since, due time.Time // zero = the session is taken
	last, told condition
}

// note notes whether the session is taken now. It reports whether to find out why it is not,
// and to note what is found; that is each time that it was not taken for the limit.
func (s *silence) note(taken bool, now time.Time) (due bool) {
	switch {
	case taken && s.told != unknown:
		s.log.Info("zookeeper answers again")
		fallthrough
	case taken:
		s.since, s.due, s.last, s.told = time.Time{}, time.Time{}, unknown, unknown
	case s.since.IsZero():
		s.since, s.due = now, now.Add(s.limit)
	case now.After(s.due):
		s.due = now.Add(s.limit)
		return true
	}
	return false
}

// found notes what was found. A server that has just come back takes the session a moment
// later than another, so that a refusal counts when it is found again.
func (s *silence) found(c condition, now time.Time) {
	again := c == s.last
	s.last = c
	if s.since.IsZero() || c == unknown || c == s.told || c == refused && !again {
		return
	}
	s.told = c
	s.log.Warn(says[c], "for", now.Sub(s.since).Round(time.Second))
}

// tellWhy sends why no server takes the session.
func (s *Session) tellWhy(found chan<- condition) {
	select {
	case found <- s.probe():
	case <-s.ctx.Done():
	}
}

// probe returns why no server takes the session, by a second connection, which has seen
// nothing yet and is taken by any server.
func (s *Session) probe() condition {
	ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Timeout)
	defer cancel()
	conn, events, err := zk.Connect(s.cfg.Servers, s.cfg.Timeout, zk.WithLogInfo(false), zk.WithLogger(discardLogger{}))
	if err != nil {
		return unknown
	}
	defer context.AfterFunc(ctx, conn.Close)() // ends what waits below
	defer conn.Close()
	for {
		select {
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
			switch is, _, err := conn.Exists(s.root.Workers()); {
			case err != nil:
				return unknown
			case is:
				return refused
			}
			return emptied
		case <-ctx.Done():
			if s.ctx.Err() != nil {
				return unknown
			}
			return away
		}
	}
}
