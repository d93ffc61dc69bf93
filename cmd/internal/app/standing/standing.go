// Package standing finds what stands still in an installation, and names the command that
// moves it on.
package standing

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Hold is a pause of a queue or a hold on a collection.
type Hold struct {
	Name string `json:"name"` // of the queue or collection
	domain.Hold
	Unreadable bool `json:"unreadable"` // its node cannot be read, so that its time is that of the node
}

// Unserved is a state in which no process works.
type Unserved struct {
	Kind   domain.Kind `json:"kind"` // batch or job
	State  string      `json:"state"`
	Daemon string      `json:"daemon"` // that has no worker
}

// Oldest is what has waited longest in a state.
type Oldest struct {
	Kind    domain.Kind `json:"kind"` // batch or job
	Status  string      `json:"status"`
	State   string      `json:"state" deprecated:"true" doc:"The same as status"`
	ID      string      `json:"id"`
	Since   domain.Time `json:"since"`
	Seconds float64     `json:"seconds"`       // since then
	Why     string      `json:"why,omitempty"` // what it waits for, when that is known
}

// Unreadable is a batch or job that cannot be read.
type Unreadable struct {
	Kind  domain.Kind `json:"kind"`
	ID    string      `json:"id"`
	Error string      `json:"error"`
}

// Situation is what is known of an installation. The zero value of a field says nothing.
type Situation struct {
	Pauses, Holds []Hold
	Closed        []Closed
	Unserved      []Unserved
	Oldest        []Oldest
	Unreadable    []Unreadable
	Overdue       int   // attempts at files
	Poison        int64 // events
	Types         *Types
	Audit         *Audit
	Heap          *Heap
}

// Heap is what the setting zookeeper_heap says, and the smallest heap of the servers.
type Heap struct {
	Setting int64
	Server  string
	Bytes   int64 // what Java may use, which is less than its -Xmx by a space that is kept free
}

// small reports whether the servers have less than the setting says, by more than that
// space.
func (h *Heap) small() bool { return h != nil && h.Bytes < h.Setting/10*9 }

// Types is how far the stream by types is behind the log.
type Types struct {
	Stream  string  `json:"stream"`
	Events  int64   `json:"events_behind"`
	Seconds float64 `json:"seconds_behind"`
	Error   string  `json:"error,omitempty"` // why that is not known
}

// Audit is what the auditor found.
type Audit struct {
	Complete          domain.Time // when a pass was complete last
	Findings, Corrupt int64
}

// Holds lists the pauses and the holds, by name.
func Holds(now eventstore.Holds) (pauses, holds []Hold) {
	list := func(all map[string]domain.Hold) []Hold {
		of := []Hold{}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			of = append(of, Hold{name, all[name], all[name].By == domain.ByUnknown})
		}
		return of
	}
	return list(now.Queues), list(now.Collections)
}

// NotServed lists the states in which no process works, batches first.
func NotServed(o eventstore.Overview) []Unserved {
	batches, jobs := o.Unserved()
	list := []Unserved{}
	for _, s := range batches {
		list = append(list, Unserved{domain.KindBatch, string(s), s.Daemon()})
	}
	for _, s := range jobs {
		list = append(list, Unserved{domain.KindJob, string(s), s.Daemon()})
	}
	return list
}

// The times after which something that waits stands still. The alerts have the same.
const (
	WaitsLong = 24 * time.Hour      // in a state that a daemon works on
	AuditLate = 30 * 24 * time.Hour // since a pass of the auditor was complete
	TypesLag  = 2 * time.Minute     // of the stream by types
)

// sortOldest puts the oldest into the order of the workflow.
func sortOldest(list []Oldest) {
	order := func(o Oldest) int {
		if o.Kind == domain.KindBatch {
			return slices.Index(domain.BatchStates, domain.BatchState(o.State))
		}
		return len(domain.BatchStates) + slices.Index(domain.JobStates, domain.JobState(o.State))
	}
	slices.SortFunc(list, func(a, b Oldest) int { return cmp.Compare(order(a), order(b)) })
}
