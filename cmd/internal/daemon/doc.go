// Package daemon does the work of the workflow: a runner and eleven daemons, each
// of which takes batches or jobs out of one state and moves them on.
//
// [Daemons] is the table of them. Each has a step, a function from a claimed batch or
// job to an [Outcome]: commit a command, fail, wait, or release the claim. A step reads
// and changes what is outside the live state (it downloads, stores, records, notifies);
// only the [Runner] writes the live state, through eventstore.Handler and under the
// claim. The files of a job are not part of the live state: the steps of estimating,
// downloading and processing write the events of each through files.Handler, and the
// job moves only after its files have.
//
// What holds for every step:
//
//   - It may be cut off anywhere and run again, by another worker. Every effect
//     outside the live state can be repeated: docs/effects.md lists each with its
//     key.
//   - Its context ends when the claim is lost or the service stops hard.
//   - What the depositor must correct, and what failed for good, becomes a failed
//     job with a class, a code and a sentence. What our own servers cannot do at the
//     moment is tried again later and is no failure of the job.
//   - An attempt at a file counts when it begins, also when its worker dies: the
//     successor ends it first. While the log is away nothing begins and nothing
//     counts.
//   - A panic fails the job, or sets it aside in the states that cannot fail.
package daemon
