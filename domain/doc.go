// Package domain holds the rules of Accession: what may happen to a batch, a job, a file
// and a setting, and what follows from it. The rules of a query are in package lookup below
// it, those of an entry in compute, those of deposit queues in fair. It is pure: nothing in it reads a clock, opens
// a connection or starts a goroutine; time and facts arrive as arguments. Struct tags name
// the JSON keys; package eventstore/codec encodes.
//
// # The workflow on one page
//
// A depositor's submission becomes a batch, which waits in a deposit queue until it is
// grabbed: the users of the queue are served in turn. The batch is listed (its manifest
// is read), one job is made for each object in it, and each job walks
//
//	pending → estimating → provisioning → downloading → processing → recording → notify → completed
//
// or stops in failed, from where an operator requeues or deletes it. A hold on a
// collection makes batches and jobs wait in held. When no job of a batch is being
// processed any more the batch is reported to its depositor and ends completed
// or failed; a failed batch can be reported again after its jobs were requeued.
//
// Each file of a job, and each file found in an open directory, has a life of its
// own:
//
//	DISCOVERED → DOWNLOADING → DOWNLOADED → READY → PROCESSING → PROCESSED
//
// with retries from DOWNLOADING_FAILED and PROCESSING_FAILED, and IGNORE and
// ABANDONED when the attempts are used up. An attempt counts when it starts. It is
// fenced by the version of the event that started it: a worker that finishes after a
// timeout is refused. Timeouts are decided on the log's clock alone.
//
// # How a change is made
//
// The legal changes are data: [BatchTransitions] (rows B1–B14),
// [JobTransitions] (rows J1–J25) and [FileTransitions] (rows F1–F16, O1–O3). The
// diagrams in the documentation are drawn from these tables and the tests are driven
// by them. testdata/scenarios tells the life of a batch, a job and a file: commands, and
// the events or refusals that follow.
//
//	Decide: (state, command, facts) → Decision, the events and what must still hold when they are written
//	Evolve: (state, recorded event) → state
//
// A [Decision] that relies on facts (a hold not set, a directory empty, no lock
// held) says so in [Require]; the event store proves it in the same atomic write.
//
// # Vocabulary
//
// Aggregate: a batch, job, file, setting, query, slot or entry; the unit whose events are numbered
// from 1 without holes. State: what the events of an aggregate fold to. Version: the
// number of its last event. Command: what is asked of an aggregate. Facts: what a
// decision needs to know besides the state. Refusal: why the rules do not allow a
// command, as [Refused] with a stable code. Event: one thing that happened to an
// aggregate; it is never changed. Recorded: an event with its author, time, commit and
// sequence in the log. Row: one row of a transition table, such as B1. Reason: why something failed or
// waits, with a class, a stable code and a sentence. Hold: what keeps a collection's
// batches and jobs waiting; on a queue it is a pause. Ticket: what a batch or query has from
// a deposit queue while it waits there, and after that while it runs. Claim: a worker's right
// to move one batch or job. Fence: what a write checks so that a worker which lost its right
// is refused; of an attempt at a file it is the version of the event that started it.
package domain
