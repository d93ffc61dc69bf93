// Package consistency compares what the three servers hold, while work goes on: folding
// the log must give what ZooKeeper has and what PostgreSQL shows.
//
// The log is the measure. [Verify] folds all of it, then looks at every batch, job
// and setting in the live state as it lay there at one moment, and at every row of
// the tables, and compares each with the log up to the version that it has. What is
// ahead of the log is waited for. Besides it looks for what belongs to nothing:
// queue entries, references, locks without a live worker, working directories; for
// events that nobody carries to the log; and for sums that do not add up.
//
// [Repair] puts right what can be put right without a person, each thing with an
// event, through the one door of all writes; it is refused when the thing has
// changed since it was looked at. [Compare] is the same for tests, of a system at
// rest.
package consistency
