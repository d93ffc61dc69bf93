package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Claims checks the claims of batches and jobs, from the writes to one root in their
// order, the first included:
//
//   - of a batch or job there is one lock at a time, and no session removes another's, unless
//     the worker that holds it is not registered;
//   - a daemon changes a batch or job only under the lock, in the session that holds
//     it;
//   - all that is written under one lock is one piece of work, and a piece of work
//     writes under one lock only. Pieces of work are told apart by their traces, so
//     that two goroutines of one session cannot pass for one;
//   - each aggregate's events are numbered from 1 without gaps or duplicates.
type Claims struct {
	locks    map[string]*lock
	workers  map[string]int64 // registered workers, and their sessions
	traces   map[string]*lock // of every piece of work, and its lock
	versions map[string]int64 // of each aggregate's last event
	faults   []string
	events   int
	locked   int // events under a lock
}

// lock is one from when it was made until it was removed.
type lock struct {
	path    string
	session int64
	holder  string // a worker
	zxid    int64
	trace   string // of the work under it, "" = nothing is written yet
}

// NewClaims begins with an empty root.
func NewClaims() *Claims {
	return &Claims{locks: map[string]*lock{}, workers: map[string]int64{}, traces: map[string]*lock{}, versions: map[string]int64{}}
}

// Faults returns the violations that were found.
func (c *Claims) Faults() []string { return c.faults }

// Seen returns how many events there were, and how many of them under a lock.
func (c *Claims) Seen() (events, locked int) { return c.events, c.locked }

func (c *Claims) fault(w Write, format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf("transaction %#x of session %#x: ", w.Zxid, w.Session)+fmt.Sprintf(format, args...))
}

// event is the part of an event in the outbox that is checked.
type event struct {
	Type      string `json:"t"`
	Aggregate string `json:"a"`
	Version   int64  `json:"v"`
	Batch     string `json:"b"`
	Actor     string `json:"by"`
	Trace     string `json:"tp"`
}

// Write checks the next write.
func (c *Claims) Write(w Write) {
	// The proofs of a write, and what it records, come before what it does to locks.
	for _, op := range w.Ops {
		if op.Kind == Create && strings.HasPrefix(op.Path, "/outbox/") && strings.Contains(op.Path, "/e-") {
			c.checkEvents(w, op)
		}
	}
	for _, op := range w.Ops {
		held := c.locks[op.Path]
		worker, isWorker := strings.CutPrefix(op.Path, "/workers/")
		switch {
		case op.Kind == CloseSession:
			c.endSession(w.Session)
		case isWorker && op.Kind == Create:
			c.workers[worker] = w.Session
		case isWorker && op.Kind == Delete:
			delete(c.workers, worker)
		case !strings.HasSuffix(op.Path, "/lock"):
		case op.Kind == Create && held != nil:
			c.fault(w, "%s is made, and is session %#x's since %#x: two claims overlap", op.Path, held.session, held.zxid)
		case op.Kind == Create:
			if !op.Ephemeral {
				c.fault(w, "%s outlives its session", op.Path)
			}
			var l struct{ Holder string }
			_ = json.Unmarshal(op.Data, &l) // one that is only tried has no holder
			c.locks[op.Path] = &lock{path: op.Path, session: w.Session, holder: l.Holder, zxid: w.Zxid}
		case op.Kind == Delete && held == nil:
			c.fault(w, "%s is removed, and was not held", op.Path)
		case op.Kind == Delete:
			if _, lives := c.workers[held.holder]; held.session != w.Session && lives {
				c.fault(w, "%s is removed, and is session %#x's since %#x", op.Path, held.session, held.zxid)
			}
			delete(c.locks, op.Path)
		}
	}
	c.handOver(w)
}

// handOver begins a new claim where a job was handed over: its lock stays, and its
// claims are counted anew.
func (c *Claims) handOver(w Write) {
	for _, op := range w.Ops {
		job, is := strings.CutSuffix(op.Path, "/claims")
		held := c.locks[job+"/lock"]
		if is && op.Kind == SetData && held != nil && held.zxid != w.Zxid && held.session == w.Session {
			c.locks[held.path] = &lock{path: held.path, session: w.Session, holder: held.holder, zxid: w.Zxid}
		}
	}
}

// endSession removes the locks and workers of a session.
func (c *Claims) endSession(session int64) {
	for path, l := range c.locks {
		if l.session == session {
			delete(c.locks, path)
		}
	}
	for id, of := range c.workers {
		if of == session {
			delete(c.workers, id)
		}
	}
}

// checkEvents checks the events of one node of the outbox.
func (c *Claims) checkEvents(w Write, op Op) {
	var events []event
	if err := json.Unmarshal(op.Data, &events); err != nil {
		c.fault(w, "%s: %v", op.Path, err)
		return
	}
	for _, e := range events {
		c.events++
		if had := c.versions[e.Aggregate]; e.Version != had+1 {
			c.fault(w, "%s number %d (%s) follows number %d", e.Aggregate, e.Version, e.Type, had)
		}
		c.versions[e.Aggregate] = e.Version
		path := claimOf(e)
		if path == "" {
			continue
		}
		if e.Type == "batch.grabbed" { // that write makes the claim
			if !slices.ContainsFunc(w.Ops, func(op Op) bool { return op.Kind == Create && op.Ephemeral && op.Path == path }) {
				c.fault(w, "%s grabs %s without a claim", e.Actor, e.Aggregate)
			}
			continue
		}
		c.locked++
		held := c.locks[path]
		if held == nil || held.session != w.Session {
			c.fault(w, "%s writes %s number %d (%s) and does not hold %s", e.Actor, e.Aggregate, e.Version, e.Type, path)
			continue
		}
		c.checkTrace(w, e, held)
	}
}

// checkTrace checks that one piece of work writes under one lock only, and that all that
// is written under one lock is of one piece of work.
func (c *Claims) checkTrace(w Write, e event, held *lock) {
	before, known := c.traces[e.Trace]
	switch {
	case e.Trace == "":
		c.fault(w, "%s number %d (%s) has no trace", e.Aggregate, e.Version, e.Type)
	case known && before != held:
		c.fault(w, "%s number %d (%s) is written under the lock of %#x by work that began under that of %#x: a late write", e.Aggregate, e.Version, e.Type, held.zxid, before.zxid)
	case held.trace != "" && held.trace != e.Trace:
		c.fault(w, "%s number %d (%s) is written by other work than wrote under the same lock before: two claims overlap", e.Aggregate, e.Version, e.Type)
	}
	held.trace, c.traces[e.Trace] = e.Trace, held
}

// claimOf names the lock under which an event must be written, "" = none. A batch goes
// to its report, and the delivery of a message is recorded, after the claim has ended.
func claimOf(e event) string {
	kind, id, _ := strings.Cut(e.Aggregate, "/")
	daemon, is := strings.CutPrefix(e.Actor, "daemon/")
	switch {
	case !is, e.Type == "batch.reporting", e.Type == "batch.reported":
		return ""
	case kind == "job" && strings.HasPrefix(daemon, "job-"), kind == "batch" && strings.HasPrefix(daemon, "batch-"):
		return "/" + map[string]string{"job": "jobs", "batch": "batches"}[kind] + "/" + id + "/lock"
	case e.Type == "job.created":
		return "/batches/" + e.Batch + "/lock"
	}
	return ""
}
