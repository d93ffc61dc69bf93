// Package run starts the program's roles and stops them in order.
//
// [Service] is `accession serve`: it opens what its roles need or says what is
// missing, runs them until its context ends, and then stops them one after the
// other, so that nothing is left half done:
//
//  1. no new claims; running steps may end within the grace time, then they are
//     cut off and their jobs released; then the sweeper breaks its pass off
//  2. the relay makes a last pass: what was committed is in the log, except where
//     another process leads; how much that is, is logged
//  3. the projector applies it
//  4. PostgreSQL, NATS and ZooKeeper are closed
//
// A role that fails is started again, later each time; the others go on.
//
// [Open] returns the use cases for a process that only asks, [Sweep] makes one pass
// of the sweeper.
package run
