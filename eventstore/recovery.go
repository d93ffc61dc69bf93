package eventstore

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/lookup"
)

// Inspector reads the live state as it is, intact or damaged, and interprets only the
// names of nodes.
type Inspector interface {
	// Sync makes later reads see all that was written before.
	Sync(ctx context.Context) error
	// Survey lists the contents, by names alone.
	Survey(ctx context.Context) (*Survey, error)
	// InspectJob, InspectBatch and InspectSetting read all nodes of one aggregate as
	// they were at one moment; `also` are further nodes that may belong to it.
	InspectJob(ctx context.Context, id domain.JobID, also ...string) (Observed, error)
	InspectBatch(ctx context.Context, id domain.BatchID, also ...string) (Observed, error)
	InspectSetting(ctx context.Context, a domain.Aggregate) (Observed, error)
	// Below lists a node and all nodes below it, children first, at most limit of them:
	// what it lists can be removed in this order. The list is empty if the node does
	// not exist.
	Below(ctx context.Context, node string, limit int) ([]string, error)
	// UnsentOf counts the unsent items in the shard of the outbox that holds the events
	// of an aggregate. For a job, batch names its batch; if that is "" all shards are
	// counted.
	UnsentOf(ctx context.Context, a domain.Aggregate, batch domain.BatchID) (int, error)
	// SeizeLock marks an observed lock so that a repair can delete it and no
	// other. It is refused (ErrLocked) unless the lock is the one that was observed and
	// its holder is gone.
	SeizeLock(ctx context.Context, observed *Observed) error
}

// RingInspector compares and repairs the deposit queues.
type RingInspector interface {
	// InspectRing compares the nodes that the batches of a deposit queue share with the
	// batches that wait and run there, and the ring with where the queue stands by its
	// events. ErrRingInUse: the ring was written all the time, and only the numbers of running
	// deposits could be compared.
	InspectRing(ctx context.Context, queue string, events RingEvents) ([]RingFault, error)
	// RepairRing makes these nodes what they should be by the statuses of the batches and
	// the events. ErrConflict: the queue has changed meanwhile.
	RepairRing(ctx context.Context, queue string, events RingEvents) error
}

// RingEvents returns where a deposit queue stands by the events that were written before
// the call, those that wait in the outbox among them. complete is false if some may be
// missing: then a ring that is further is taken as it is. Recent are the deposits that left
// last, see [RingState.ApplyOf].
type RingEvents func(ctx context.Context) (at RingState, complete bool, err error)

// QueryInspector compares and repairs queries.
type QueryInspector interface {
	// InspectQuery reads all nodes of a query, as InspectJob those of a job.
	InspectQuery(ctx context.Context, id domain.QueryID, also ...string) (Observed, error)
	// ExpectedQuery returns the nodes that a query should have.
	ExpectedQuery(q lookup.Query) Nodes
	// RepairQuery makes the nodes of a query what they should be, without an event.
	// ErrConflict: it has changed since it was inspected.
	RepairQuery(ctx context.Context, want lookup.Query, observed Observed) error
}

// EntryInspector compares and repairs the entries of the compute queue.
type EntryInspector interface {
	// InspectEntry reads all nodes of an entry, as InspectJob those of a job; its claim is the
	// lock. known is what the events say of it, at least its id.
	InspectEntry(ctx context.Context, known compute.Entry, also ...string) (Observed, error)
	// ExpectedEntry returns the nodes that an entry should have, without its claim. What no
	// event says stays as it was observed: how often it was passed over, and whether its
	// worker computes.
	ExpectedEntry(e compute.Entry, o Observed) Nodes
	// RepairEntry makes the nodes of an entry what they should be, without an event.
	// ErrConflict: it has changed since it was inspected.
	RepairEntry(ctx context.Context, want compute.Entry, observed Observed) error
}

// Layout returns the nodes that a state should have.
type Layout interface {
	// ExpectedJob takes a job that has left its queue in few nodes or in all, as it was
	// observed.
	ExpectedJob(j domain.Job, o Observed) Nodes
	ExpectedBatch(b domain.Batch) Nodes
	// ExpectedSetting leaves what a newer program has set besides as it is.
	ExpectedSetting(s domain.Setting, o Observed) Nodes
}

// Nodes is a part of the live state as it is stored: nodes by their names below
// the root, and their data.
type Nodes map[string]string

// Survey lists the contents of the live state.
type Survey struct {
	Batches  []domain.BatchID
	Jobs     []domain.JobID
	Queries  []domain.QueryID
	Settings []domain.Aggregate
	// Compute are the entries of the compute queue that have a status, ComputeNodes the other
	// nodes there by the entry that they name: "" are keys that name none.
	Compute      []compute.ID
	ComputeNodes map[compute.ID][]string
	// Entries are the nodes in queues, Refs those in the sub-states of batches,
	// Promises those of working space, Objects those among the jobs of an object, by the
	// job that they name.
	Entries, Refs, Promises, Objects map[domain.JobID][]string
	// Unnamed are nodes below a batch's sub-states that name no job; Strays are nodes
	// elsewhere whose names are not expected there. Foreign are nodes beside those that
	// the tree has: another program, or a newer one, may have made them.
	Unnamed         map[domain.BatchID][]string
	Tickets         map[domain.BatchID][]string // entries and running ones in deposit queues
	QueryTickets    map[domain.QueryID][]string // the same of queries
	Strays, Foreign []string
}

// RingFault is a node of a deposit queue that is not what it should be.
type RingFault struct{ Node, Expected, Observed string }

// Observed is an aggregate as it was at one moment.
type Observed struct {
	Aggregate domain.Aggregate
	Nodes     Nodes // without the lock; the counts of claims have no data here
	// Version is that of its status, 0 = there is none that can be read; Token is for
	// compare-and-set.
	Version int64
	Token   Token
	NextRow int  // of a batch
	Claims  int  // of a job, since its last event
	Dir     bool // its own node is there, so that it can be locked
	Lock    *ObservedLock
}

// ObservedLock is a lock as it was observed.
type ObservedLock struct {
	Node   string
	Holder string // a worker, "" = it cannot be read
	// Alive says that the holder is registered and that the lock ends with its session.
	Alive bool
	// Lease says that it is the lease of an entry, and ends with no session.
	Lease   bool
	Created int64     // in which commit; distinguishes one lock from the next
	Since   time.Time // when it was made, by ZooKeeper's clock
	Version int32     // of the node, 0 as long as it was not seized or renewed
}

// Numbers are those that the next ids have, by kind.
type Numbers struct{ Batch, Job, Query, Entry int64 }

// History is the live state that the log folds to: what a lost tree is restored from.
type History struct {
	Events   uint64
	Epoch    int64          // the highest that was seen
	Batches  []domain.Batch // with the rows that have their jobs
	Jobs     []domain.Job
	Settings []domain.Setting
	Queries  []lookup.Query       // that have not ended
	Rings    map[string]RingState // of the deposit queues, by name: where they stand, and the next slots
	Entries  []compute.Entry      // of the compute queue, that are not purged
	// NextBatch and NextJob are numbers above all ids of the log.
	NextBatch, NextJob, NextQuery, NextEntry int64
	// LogSeq and LogEvent are the last sequence of the log and the id of the event there.
	LogSeq   uint64
	LogEvent string
	// HighWater is the round of the last high-water mark, 0 = none was made yet.
	HighWater int64
	// Replaces says that the live state is an older copy, which is to be removed.
	Replaces bool
}

// Deposits returns the batches and queries as deposits.
func (h *History) Deposits() (all []Deposit) {
	for _, b := range h.Batches {
		all = append(all, DepositOfBatch(b))
	}
	for _, q := range h.Queries {
		all = append(all, DepositOfQuery(q))
	}
	return all
}

// Restorer restores a live state.
type Restorer interface {
	// Restore creates everything that the history has left, in an empty tree or in place
	// of an older copy, and begins a new epoch. *domain.Refused: the tree is not empty, or another process
	// works on it, or the log must be restored first. A restore that was interrupted is
	// begun again.
	Restore(ctx context.Context, h History, progress func(done, total int)) error
	// Untouched reports whether the live state is not there, or nothing ever happened
	// in it: no id was reserved and no setting changed.
	Untouched(ctx context.Context) (bool, error)
	// Exclude keeps other processes from opening the live state until Restored. *domain.Refused:
	// another process uses it, or it is half made: its own restore comes first.
	Exclude(ctx context.Context) error
	// NewEpoch begins a new epoch and returns it.
	NewEpoch(ctx context.Context) (int64, error)
	// RaiseMarks notes in the marks of the outbox how far the log goes, after its events were
	// restored, perhaps to other sequences.
	RaiseMarks(ctx context.Context, seq uint64, event string) error
	// Restored ends the restore that Restore or Exclude of this process began, or took
	// over, and no other: others may use the tree from now on.
	Restored(ctx context.Context) error
	// Shards and Read are those of [Outbox].
	Shards() int
	Read(ctx context.Context, shard int, after Offset, limit int) ([]Item, error)
}
