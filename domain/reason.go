package domain

// Class is the kind of a reason. It says whether anything failed, and who must act when
// nothing tries again.
type Class string

// The classes of reason. The first four are failures; ClassWait is no failure:
// something is held or waits for its turn.
const (
	ClassContent   Class = "content"   // the depositor must act
	ClassSystem    Class = "system"    // the operators must act
	ClassTimeout   Class = "timeout"   // it took longer than allowed
	ClassCancelled Class = "cancelled" // it was requested
	ClassWait      Class = "wait"      // nothing failed, work goes on later
)

// Code is a stable word for programs, such as digest_mismatch.
type Code string

// Codes that the rules themselves give. Daemons add those of their own step.
const (
	CodeCollectionHeld  Code = "collection_held"
	CodeHeldByOperator  Code = "held_by_operator"
	CodeManifestInvalid Code = "manifest_invalid"
	CodeDigestMismatch  Code = "digest_mismatch"
	CodeSpaceShort      Code = "space_short"
	CodeSpaceNever      Code = "space_never" // it needs more than there is in all
	CodeCancelled       Code = "cancelled"   // an operator ended it
	CodeObjectLocked    Code = "object_locked"
	CodeRowFault        Code = "row_fault"
	CodeProfileUnknown  Code = "profile_unknown"
	CodeServerBusy      Code = "server_busy" // its server holds its share of the workers
	CodeClaimsUsedUp    Code = "claims_used_up"
	CodeRetried         Code = "retried" // an operator tries it again
	CodeCleaned         Code = "cleaned"
	CodeJobsLocked      Code = "jobs_locked"
	CodeParked          Code = "parked"    // an operator took it out of its deposit queue
	CodeFreed           Code = "freed"     // an operator freed its place in a deposit queue
	CodeJobsRest        Code = "jobs_rest" // all of its open jobs are held or wait for space
)

// Codes that the rules of files give, as reasons or as refusals.
const (
	CodeAlreadyDiscovered Code = "already_discovered"
	CodeAlreadyExists     Code = "already_exists"       // a valid copy was there
	CodeRedownload        Code = "redownload_requested" // an operator has it fetched anew
	CodeBadFile           Code = "bad_file"
	CodeFenced            Code = "fenced" // another attempt is under way
	CodeDownloadTimeout   Code = "download_timeout"
	CodeProcessingTimeout Code = "processing_timeout"
	CodeWorkerLost        Code = "worker_lost"
	CodeAttemptsUsedUp    Code = "attempts_used_up"
	CodeRetryDelayed      Code = "retry_delayed"
	CodeNotOverdue        Code = "not_overdue"
	CodeTimeUnknown       Code = "time_unknown"
	CodeBadLimits         Code = "bad_limits"
	CodeReasonMissing     Code = "reason_missing"
	CodeSlotPending       Code = "slot_pending"
	CodeSlotClosed        Code = "slot_closed"
	CodePrerequisites     Code = "prerequisites_missing"
	CodeObjectCorrupt     Code = "object_corrupt" // the stored result is
	CodeObjectSound       Code = "object_sound"   // a sound copy is stored again
)

// Codes of refusals by the rules of batches, jobs and settings.
const (
	CodeIllegal         Code = "illegal_transition" // the table has no such row
	CodeUnknownCommand  Code = "unknown_command"
	CodeAlreadyListed   Code = "already_listed"
	CodeEmptyListing    Code = "empty_listing"
	CodeJobsExist       Code = "jobs_exist"
	CodeJobsMissing     Code = "jobs_missing"
	CodeJobsProcessing  Code = "jobs_processing"
	CodeNotOnHold       Code = "not_on_hold"
	CodeAlreadyCleaned  Code = "already_cleaned"
	CodeBadPriority     Code = "bad_priority"
	CodeBatchNotDeleted Code = "batch_not_deleted"
	CodeBatchState      Code = "batch_state" // of the job's batch
	CodeNotRecoverable  Code = "not_recoverable"
	CodeBadName         Code = "bad_name"
	CodeNoChange        Code = "no_change"
	CodeNotGrabbed      Code = "not_grabbed" // it waits in a deposit queue
	CodeNotWaiting      Code = "not_waiting" // in a deposit queue
	CodeNotParked       Code = "not_parked"
	CodeNotRunning      Code = "not_running"    // in a deposit queue
	CodePoolFull        Code = "pool_full"      // of synchronous deposits
	CodeNotServed       Code = "not_served"     // no synchronous deposit of the user is taken
	CodeNotRestorable   Code = "not_restorable" // the live state is not one that a restore replaces
)

// Reason says why something failed or waits.
type Reason struct {
	Class   Class  `json:"class" jsonschema:"enum=content,enum=system,enum=timeout,enum=cancelled,enum=wait"`
	Code    Code   `json:"code"`
	Message string `json:"message"`                                                                             // one sentence for people
	Attempt int    `json:"attempt,omitempty"`                                                                   // which attempt, from 1
	Worker  string `json:"worker,omitempty"`                                                                    // the worker that made it
	Host    string `json:"host,omitempty"`                                                                      // the server that it is about, as HOST or HOST:PORT
	WhoActs Acting `json:"who_acts,omitempty" jsonschema:"enum=depositor,enum=operator,enum=service,enum=none"` // who must act now
}

// Acting says who must act on a reason.
type Acting string

// Who must act.
const (
	ActsDepositor Acting = "depositor" // correct the deposit, or the server that it names
	ActsOperator  Acting = "operator"  // repair the installation, or decide
	ActsService   Acting = "service"   // it tries again by itself
	ActsNone      Acting = "none"      // it was requested
)

// WhoActs returns who must act on a failure of the class that nothing tries again.
func (c Class) WhoActs() Acting {
	switch c {
	case ClassContent:
		return ActsDepositor
	case ClassCancelled:
		return ActsNone
	case ClassWait:
		return ActsService
	default:
		return ActsOperator
	}
}

// Final returns the reason of something that nothing tries again, with who must act.
func (r *Reason) Final() *Reason {
	if !r.Failure() || r.WhoActs != "" {
		return r
	}
	final := *r
	final.WhoActs = r.Class.WhoActs()
	return &final
}

// Failure reports whether the reason is a failure, not of a wait.
func (r *Reason) Failure() bool { return r != nil && r.Class != ClassWait }

// WorkerLost returns the reason for ending the attempt of a worker that is known to
// be gone, without waiting for its timeout.
func WorkerLost(worker string) Reason {
	msg := "the worker is gone"
	if worker != "" {
		msg = "worker " + worker + " is gone"
	}
	return Reason{Class: ClassSystem, Code: CodeWorkerLost, Message: msg, Worker: worker}
}

// Held returns the reason for waiting behind a collection's hold.
func Held(collection string, h Hold) *Reason {
	msg := "collection " + collection + " is on hold"
	if h.By != "" {
		msg += ", set by " + h.By
	}
	if h.Why != "" {
		msg += ": " + h.Why
	}
	return &Reason{Class: ClassWait, Code: CodeCollectionHeld, Message: msg}
}
