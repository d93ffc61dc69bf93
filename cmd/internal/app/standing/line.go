package standing

import (
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Line is one thing that stands still.
type Line struct {
	Code   string `json:"code"`   // the kind, for programs
	What   string `json:"what"`   // a sentence
	Remedy string `json:"remedy"` // a command that moves it on, or shows more
}

// The codes of lines.
const (
	CodePaused     = "paused"
	CodeHeld       = "held"
	CodeClosed     = "intake_closed"
	CodeUnserved   = "unserved"
	CodeWaits      = "waits_long"
	CodeUnreadable = "unreadable"
	CodeOverdue    = "overdue"
	CodePoison     = "poison"
	CodeTypes      = "types_behind"
	CodeCorrupt    = "corrupt"
	CodeFindings   = "audit_findings"
	CodeAuditLate  = "audit_late"
	CodeHeap       = "heap_small"
)

// Lines returns what stands still, what stops most first.
func Lines(s Situation, now time.Time) []Line {
	list := []Line{}
	add := func(code, remedy, what string, args ...any) {
		list = append(list, Line{code, fmt.Sprintf(what, args...), remedy})
	}
	for _, h := range s.Pauses {
		what := "queue " + h.Name + " is paused"
		if h.Name == domain.QueueIngest {
			what = "all queues are paused"
		}
		add(CodePaused, "accession queue resume "+h.Name, "%s%s", what, h.since())
	}
	for _, h := range s.Holds {
		add(CodeHeld, "accession collection release "+h.Name, "collection %s is on hold%s", h.Name, h.since())
	}
	for _, c := range s.Closed {
		list = append(list, c.line())
	}
	unserved := s.Unserved
	if len(unserved) == len(NotServed(eventstore.Overview{})) {
		add(CodeUnserved, "accession serve", "no process works on batches and jobs")
		unserved = nil
	}
	for _, u := range unserved {
		add(CodeUnserved, "accession serve --roles daemons --set workers="+u.Daemon+"=1", "no process works on %s in state %s", plural[u.Kind], u.State)
	}
	for _, u := range s.Unreadable {
		add(CodeUnreadable, "accession verify", "%s %s cannot be read and is set aside", u.Kind, u.ID)
	}
	for _, o := range s.Oldest {
		if held := o.Kind == domain.KindJob && o.State == string(domain.JobHeld); !held && now.Sub(o.Since.Time) > WaitsLong {
			add(CodeWaits, fmt.Sprintf("accession %s show %s", o.Kind, o.ID), "%s %s waits in state %s since %s", o.Kind, o.ID, o.State, o.Since)
		}
	}
	if s.Overdue > 0 {
		add(CodeOverdue, "accession sweep", "%d attempts at files are overdue", s.Overdue)
	}
	if s.Poison > 0 {
		add(CodePoison, "accession poison ls", "%d events are missing in the tables", s.Poison)
	}
	list = append(list, s.copies(now)...)
	if h := s.Heap; h.small() {
		add(CodeHeap, "accession config print", "ZooKeeper %s has a heap of %d MiB and zookeeper_heap says %d MiB: deposits are refused too late", h.Server, h.Bytes>>20, h.Setting>>20)
	}
	return list
}

// copies returns what stands still of what is copied or stored.
func (s Situation) copies(now time.Time) (list []Line) {
	if t := s.Types; t != nil && t.Error != "" {
		list = append(list, Line{CodeTypes, "the stream by types, " + t.Stream + ", cannot be compared with the log: " + t.Error, "accession serve --roles types"})
	} else if t != nil && t.Seconds > TypesLag.Seconds() {
		list = append(list, Line{CodeTypes, fmt.Sprintf("the stream by types, %s, is %d events behind", t.Stream, t.Events), "accession serve --roles types"})
	}
	a := s.Audit
	if a == nil {
		return list
	}
	if a.Corrupt > 0 {
		list = append(list, Line{CodeCorrupt, fmt.Sprintf("%d stored files are corrupt", a.Corrupt), "accession verify --deep"})
	}
	if a.Findings > 0 {
		list = append(list, Line{CodeFindings, fmt.Sprintf("the audit found %d differences", a.Findings), "accession verify"})
	}
	if now.Sub(a.Complete.Time) > AuditLate {
		list = append(list, Line{CodeAuditLate, "no pass of the auditor was complete since " + a.Complete.String(), "accession serve --roles auditor"})
	}
	return list
}

var plural = map[domain.Kind]string{domain.KindBatch: "batches", domain.KindJob: "jobs"}

// since says since when a hold is set, by whom and why.
func (h Hold) since() string {
	if h.Unreadable {
		return " since " + h.When.String() + "; its node cannot be read"
	}
	s := " since " + h.When.String() + " by " + h.By
	if h.Why != "" {
		s += ": " + h.Why
	}
	return s
}
