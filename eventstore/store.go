package eventstore

import (
	"context"
	"iter"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/lookup"
)

// Token is the number that compare-and-set compares. The adapter chooses it: it is not the
// version of the aggregate.
type Token int32

// Loaded is a state and the token under which it was read.
type Loaded[S any] struct {
	State S
	Token Token
}

// Transition is a state before and after a decision.
type Transition[S any] struct{ From, To S }

// Change is one decision, ready to be written: exactly one of Batch, Query, Entry, Job
// and Setting is set.
type Change struct {
	Batch   *Transition[domain.Batch]
	Query   *Transition[lookup.Query]
	Entry   *Transition[compute.Entry]
	Job     *Transition[domain.Job]
	Setting *Transition[domain.Setting]

	// Token is that of From; not compared when From does not exist.
	Token  Token
	Events []domain.Recorded // without Zxid, Epoch, Seq: the store fills them
	// JSON holds the data of each event as codec.SanitiseAll returned it, so that it is
	// encoded once. Nil = it is not known.
	JSON [][]byte

	Require      domain.Require
	BatchToken   Token // of the job's batch, for Require.Batch
	HoldsVersion int64 // for Require.Holds
	// ProfilesVersion is set for a profile: the version of all of them with which it was
	// compared. The write is refused if it is another one.
	ProfilesVersion *Token

	// Claim is the claim under which the change is made, nil for an operator. The write
	// checks its fence, and removes its lock unless KeepClaim is set.
	Claim     *Claim
	KeepClaim bool
	// Next requests hand-over: the same write claims the job again in its new state,
	// which must be this one. That is done only if no job in the queue of that state
	// would be claimed before this one and the queue is not paused; else the change is written
	// without the claim. "" = no.
	Next domain.JobState

	// SpaceTerm is set when the write promises working space: the term of the leader that
	// promises it. The write is refused once a later term has begun, see [Space].
	SpaceTerm *Token

	// NextRow is set for jobs made from a batch manifest: the write moves the batch's
	// progress from NextRow to the row after the last job of the same Commit, by
	// compare-and-set. All such changes of one Commit are consecutive rows.
	NextRow *int

	// Leave is set when the batch or query leaves the ring of a deposit queue. The change is
	// then the first of its Commit.
	Leave *Leave

	// EntryClaim is the claim that the write makes of an entry. The change is then the first
	// of its Commit; the others are of entries that are passed over, and have no event.
	EntryClaim *Claim
	// Lease is the lease of the entry that the write ends.
	Lease *Lease

	// Pool is set for a synchronous deposit: the pool in which it gets its place.
	Pool *Pool

	// Observed is set for a repair: the nodes that exist in place of those of From. The
	// write replaces them by those of To.
	Observed *Observed
}

// Aggregate names what the change is about.
func (c Change) Aggregate() domain.Aggregate {
	switch {
	case c.Batch != nil:
		return c.Batch.To.ID.Aggregate()
	case c.Job != nil:
		return c.Job.To.ID.Aggregate()
	case c.Query != nil:
		return c.Query.To.ID.Aggregate()
	case c.Entry != nil:
		return c.Entry.To.ID.Aggregate()
	default:
		return c.Setting.To.Aggregate()
	}
}

// NewClaim returns the claim that the write makes, of a deposit that is grabbed or an entry
// that is taken; nil = none. A lease is no claim of this process.
func (c Change) NewClaim() *Claim {
	if c.Leave.Grabbed() {
		return c.Leave.Claim
	}
	if c.EntryClaim != nil && c.EntryClaim.Lease != nil {
		return nil
	}
	return c.EntryClaim
}

// HandsOver reports whether the change requests hand-over and satisfies its conditions:
// the claim is the job's own, it ends, and the job's new state is the requested one.
func (c Change) HandsOver() bool {
	return c.Next != "" && c.Job != nil && c.Claim != nil && !c.KeepClaim && c.Claim.Aggregate == c.Aggregate() &&
		c.Job.To.State == c.Next && c.Job.To.QueueEntry() != ""
}

// Committed says how a change was written.
type Committed struct {
	Token Token // of the state after the change
	Zxid  int64 // 0 when it is not known, after a lost answer
	// Claim is the new claim for Change.Next or of a grab, nil = none; it must be ended
	// like any other. The claim of the change has ended.
	Claim *Claim
}

// Refs counts the references in a batch's sub-states.
type Refs struct{ Processing, Failed, Completed int }

// Holds is what is known of holds and pauses at one version.
type Holds struct {
	Version     int64
	Collections map[string]domain.Hold
	Queues      map[string]domain.Hold
}

// Paused reports whether claims in the queue are stopped.
func (h Holds) Paused(queue string) bool {
	_, all := h.Queues[domain.QueueIngest]
	_, one := h.Queues[queue]
	return all || one
}

// Live is the present state of batches, jobs and settings; [Queries] has that of queries, [Entries]
// that of entries.
//
// Reads return ErrNotFound for what does not exist. Commit is all or nothing over
// its changes and returns ErrConflict when a token, a fence or a requirement does
// not hold, ErrUnknown when the outcome cannot be found out before ctx ends.
type Live interface {
	// Batch and Job read a batch or job.
	Batch(ctx context.Context, id domain.BatchID) (Loaded[domain.Batch], error)
	Job(ctx context.Context, id domain.JobID) (Loaded[domain.Job], error)
	// Setting reads a setting. One that was never set has version 0 and token 0.
	Setting(ctx context.Context, kind domain.SettingKind, name string) (Loaded[domain.Setting], error)
	// Refs counts the jobs of a batch by sub-state, without listing them.
	Refs(ctx context.Context, id domain.BatchID) (Refs, error)
	// BatchJobs lists the jobs in one sub-state, sorted.
	BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error)
	// Locked returns those of the aggregates that are locked, in the order given.
	Locked(ctx context.Context, of ...domain.Aggregate) ([]domain.Aggregate, error)
	// Holds may return a cached value; a write that relies on it sets Require.Holds.
	Holds(ctx context.Context) (Holds, error)

	// Commit writes changes, and returns for each how it was written.
	Commit(ctx context.Context, changes ...Change) ([]Committed, error)
}

// Profiles knows which profiles are set.
type Profiles interface {
	// ProfilesVersion returns a version that is another one after each change of a profile.
	ProfilesVersion(ctx context.Context) (Token, error)
}

// Catalog lists the batches, reserves ids for new ones, and removes deleted ones.
type Catalog interface {
	// Batches lists the ids of all batches, sorted.
	Batches(ctx context.Context) ([]domain.BatchID, error)
	// Remove deletes the last nodes of a deleted or cleaned batch, in bounded steps: of
	// a cleaned one also its jobs; those of a deleted one must be gone. After an
	// interruption it can be called again.
	Remove(ctx context.Context, id domain.BatchID) error
	// ReserveBatchID and ReserveJobIDs return ids that no other caller gets, also when
	// they are never used. ReserveJobIDs returns the first of n consecutive ones.
	ReserveBatchID(ctx context.Context) (domain.BatchID, error)
	ReserveJobIDs(ctx context.Context, n int) (domain.JobID, error)
}

// Claim is the right to move one batch or job, held by one goroutine.
type Claim struct {
	ID        string // unique; names the working directory of this claim
	Worker    string // id of the session that holds it
	Aggregate domain.Aggregate
	// Attempts counts the claims of a job or query since its last event or Release, with
	// this one: each claim before it has ended with its worker. It is not the number of an
	// attempt in a [domain.Reason].
	Attempts int
	// Lost is closed when the session has ended: work must stop, every write is
	// refused.
	Lost <-chan struct{}
	// Silent is closed when the session may have ended, because no server has answered for
	// so long: work must stop, because another worker may have begun it. nil = it always
	// shows in Lost.
	Silent <-chan struct{}
	// Lease is set for an entry that a worker without a session takes.
	Lease *Lease
}

// Claims makes and ends claims. A claim must be ended exactly once: by a Commit that
// carries it without KeepClaim, or by Release, in either case by the goroutine that got
// it or after that goroutine has returned. For a job whose batch is deleted the error is
// ErrNotFound.
type Claims interface {
	// NextJob waits until a job in the state can be claimed, and claims it. The order is:
	// lower priority number first, then the submitters in turn (see fair.Line; the turns are
	// those of this process), then lower id. A job that was released with a delay comes
	// behind those of its submitter that waited when the delay ended. The gate, nil = none,
	// may keep jobs waiting while others are claimed. A job whose queue is paused is not
	// claimed. When ctx ends NextJob returns its error.
	NextJob(ctx context.Context, state domain.JobState, gate Gate[domain.Job]) (*Claim, Loaded[domain.Job], error)
	// NextBatch is the same for batches, which have no priority. Of the pending ones it
	// returns synchronous deposits for the state [Synchronous] and the others for pending,
	// but never those that wait in a deposit queue.
	NextBatch(ctx context.Context, state domain.BatchState, gate Gate[domain.Batch]) (*Claim, Loaded[domain.Batch], error)
	// ClaimJob and ClaimBatch claim a given job or batch. ErrLocked: another worker
	// holds it.
	ClaimJob(ctx context.Context, id domain.JobID) (*Claim, Loaded[domain.Job], error)
	ClaimBatch(ctx context.Context, id domain.BatchID) (*Claim, Loaded[domain.Batch], error)
	// Confirm returns nil if the claim was valid at some moment after the call began,
	// and [ErrFenced] if it was lost. Call it before effects outside the live state
	// that only one worker may have: a process may have been suspended for long without
	// noticing.
	Confirm(ctx context.Context, c *Claim) error
	// Release removes the lock without a transition, and resets the count behind
	// Claim.Attempts: the worker has not died. After delay the job may be claimed again
	// here (0 = at once); other processes are free to claim it earlier. A lost claim is
	// no error.
	Release(ctx context.Context, c *Claim, delay time.Duration) error
	// Wake ends the delay with which this process released a job.
	Wake(ctx context.Context, id domain.JobID)
	// Observe takes an event that was read from the log, so that new work is found
	// without listing. Work whose events were missed is found by listing.
	Observe(r domain.Recorded)
}

// Offset is a position in a shard's outbox, increasing in commit order. The zero Offset
// is before all others.
type Offset struct {
	Bucket int64 `json:"bucket"`
	Seq    int64 `json:"seq"`
}

// Before reports whether p is before q.
func (p Offset) Before(q Offset) bool {
	return p.Bucket < q.Bucket || p.Bucket == q.Bucket && p.Seq < q.Seq
}

// Mark says how far a shard's items are in the log.
type Mark struct {
	Offset        // everything up to here is in the log
	LogSeq uint64 `json:"log_seq,omitempty"` // latest sequence in the log that was seen, 0 = unknown
	Event  string `json:"event,omitempty"`   // id of the event there
}

// Item is one node of the outbox: the events of one decision, or of several that
// were written together.
type Item struct {
	Offset Offset
	Events []domain.Recorded // with Zxid and Epoch
	JSON   [][]byte          // the data of each event, see [Change]; nil = it is not known
}

// Outbox holds committed events until they are in the log. It is split into
// shards; the events of a batch and its jobs share one.
type Outbox interface {
	// Shards returns the number of shards.
	Shards() int
	// Lead waits until the caller leads the shard; the context that it returns ends when
	// the lead is lost or resign is called.
	Lead(ctx context.Context, shard int) (lead context.Context, resign func(), err error)
	// Mark returns the mark of a shard.
	Mark(ctx context.Context, shard int) (Mark, error)
	// Read returns up to limit items after the offset, in commit order.
	Read(ctx context.Context, shard int, after Offset, limit int) ([]Item, error)
	// Wait returns when there may be items after the offset, or ctx ends.
	Wait(ctx context.Context, shard int, after Offset) error
	// MoveMark moves the mark; items before it are removed after the grace time.
	MoveMark(ctx context.Context, shard int, upTo Mark) error
	// Depth counts the items that are not in the log, and returns the age of the oldest.
	Depth(ctx context.Context) (OutboxDepth, error)
}

// OutboxDepth is how far the log is behind the outbox.
type OutboxDepth struct {
	Unsent int           // items that are not in the log
	Oldest time.Duration // age of the oldest of them, 0 = there is none
}

// LastEvent is an aggregate's last event in the log. The zero value: there is none.
type LastEvent struct {
	Version   int64
	Seq       uint64
	CommandID string
}

// Append is an event to append, and the sequence of its aggregate's last event.
type Append struct {
	Event domain.Recorded
	JSON  []byte // the event's data, see [Change]; nil = it is not known
	// ExpectSeq is the sequence of the aggregate's event before, 0 = none. It is
	// compared for the first event of each aggregate in one Append call.
	ExpectSeq uint64
	// Stored is when the log first stored an event that is now restored to it; zero for
	// a new event.
	Stored time.Time
}

// MaxJobsPerCommit is how many jobs fit into one write with all their nodes.
const MaxJobsPerCommit = 80

// ReadOptions choose what to read of the log.
type ReadOptions struct {
	From      uint64            // first sequence, 0 and 1 = from the start
	To        uint64            // last sequence, 0 = the present end
	Follow    bool              // wait for new events until ctx ends
	Aggregate *domain.Aggregate // only this aggregate's
}

// LogInfo describes the log.
type LogInfo struct {
	First, Last uint64
	Created     time.Time // together with the name it identifies the log
	Name        string
	Now         time.Time // by the clock that stamps Recorded.Stored
}

// Log is the immutable history.
type Log interface {
	// Append writes all events or none and returns their sequences. ErrConflict: an
	// expectation does not hold.
	Append(ctx context.Context, events []Append) ([]uint64, error)
	// Last returns the last event of an aggregate.
	Last(ctx context.Context, a domain.Aggregate) (LastEvent, error)
	// Read returns events in order of their sequence. A broken event ends the
	// iteration with an error that names its sequence.
	Read(ctx context.Context, o ReadOptions) iter.Seq2[domain.Recorded, error]
	// Info describes the log as it is now.
	Info(ctx context.Context) (LogInfo, error)
}

// Space holds the working space that is promised to jobs, for all processes, and elects
// the one process that may promise more. The promises are part of the live state: each
// begins and ends in the write that moves its job.
type Space interface {
	// LeadSpace waits until the caller leads provisioning; the context that it returns ends
	// when the lead is lost or resign is called. The term is for [Change.SpaceTerm]: a write
	// under it is refused (ErrFenced) once another lead has begun, so that nothing is
	// promised that the new leader has not counted.
	LeadSpace(ctx context.Context) (lead context.Context, term Token, resign func(), err error)
	// Promised lists the jobs to which space is promised. [Space.Promise] may not find
	// some of them any more.
	Promised(ctx context.Context) ([]domain.JobID, error)
	// Promise returns what is promised to a job, ErrNotFound = nothing.
	Promise(ctx context.Context, id domain.JobID) (Promise, error)
	// PromiseFile notes what the download of a file without a job is to take. It is noted until
	// end is called, or the session of this process ends. ErrLocked: it is noted already.
	PromiseFile(ctx context.Context, p FilePromise) (end func(), err error)
	// FilePromises lists what is noted for files, by all processes.
	FilePromises(ctx context.Context) ([]FilePromise, error)
}

// FilePromise is the working space that the download of a file without a job is to take.
type FilePromise struct {
	File    domain.FileHash
	Bytes   int64  // 0 = it is not known how many
	Profile string // names the working directory
}

// Objects knows which jobs are of one object (see [domain.ObjectKey]). A job's entries
// begin and end in the writes that move it.
type Objects interface {
	// JobsOfObject lists the other jobs that have an entry under a key of the job, sorted. It is
	// of the moment of the call or later, and may list jobs that have ended: older programs
	// do not know these entries.
	JobsOfObject(ctx context.Context, j domain.Job) ([]domain.JobID, error)
	// RunningBatches lists the batches of a submitter that were grabbed from the deposit
	// queue, or are synchronous, and are not reported yet, sorted; synchronous ones of
	// others may be among them. It is of the moment of the call or later.
	RunningBatches(ctx context.Context, submitter string) ([]domain.BatchID, error)
}

// Hosts has the permits for servers of others, and for submitters: the processes together
// hold a bounded number for each.
type Hosts interface {
	// TakePermit takes one of the permits for a host or submitter, of which there are as
	// many as most says. ErrLocked: all of them are taken. It does not wait for one.
	TakePermit(ctx context.Context, of PermitOf, most int) (*Permit, error)
	// ReturnPermit ends a permit, soon. One that was lost is no error.
	ReturnPermit(p *Permit)
	// Permits returns how many permits are taken for each host and submitter that has any,
	// most first. Only the first of them, as many as named says, have names: each costs a
	// read.
	Permits(ctx context.Context, named int) ([]PermitsTaken, error)
}

// PermitOf is what a permit is for.
type PermitOf struct {
	Name      string // of the host or submitter; "" = it was not asked for
	Submitter bool   // else a host
}

// String returns the host, or the submitter with that word before.
func (of PermitOf) String() string {
	if of.Submitter {
		return "submitter " + of.Name
	}
	return of.Name
}

// PermitsTaken says how many permits for a host or submitter all processes have.
type PermitsTaken struct {
	Of    PermitOf
	Taken int
}

// Permit is the right of a process to one step that uses a host, or works for a submitter.
type Permit struct {
	Of     PermitOf
	Number int    // from 0
	Worker string // id of the session that holds it
	// Lost is closed when the session has ended, and the permit with it.
	Lost <-chan struct{}
}

// Promise is working space that is kept for a job.
type Promise struct {
	Bytes   int64
	Profile string // of the job: it names the working directory
	Version int64  // of the job when it was read
}
