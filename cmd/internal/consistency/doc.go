// Package consistency verifies that the three servers agree, while work goes on:
// folding the log must give what ZooKeeper and PostgreSQL hold.
//
// The log decides. [Verify] folds all of it, inspects every batch, job and setting in
// the live state and every row of the tables, and compares each with the log at the
// version that it has. What is ahead of the log is waited for. Verify also looks for
// orphans (queue entries, references, locks without a live worker, working
// directories), for events that stay in the outbox, and for sums that do not add up.
//
// [Repair] repairs what needs no person, each thing with an event, through the same
// door as all writes; a repair is refused when its subject has changed since it was
// inspected. [FoldAll] and [RestoreLog] are what restores are made of.
package consistency
