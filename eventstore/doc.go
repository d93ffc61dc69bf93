// Package eventstore is the write path: it decides, commits one atomic write to
// the live state together with its events, and carries the events to the log.
//
// What it promises:
//
//   - One decision is one write. State, queue entries, references, lock and
//     events change together or not at all.
//   - An aggregate's events are numbered from 1 without gap or duplicate, and are
//     in the log once, in that order.
//   - A write that decided on an outdated state, or whose mover lost its claim, is
//     refused and changes nothing.
//   - An unknown outcome (a lost answer) is resolved by searching for the command,
//     never by a blind retry.
//
// Main path: [Handler] loads, calls domain.DecideBatch or DecideJob, and commits through [Live]; the
// events wait in the [Outbox]; package relay takes them to the [Log] in order.
//
// Files have no live state: package files folds a file's events, decides, and
// appends to the file's own subject, expecting the event that it decided upon.
//
// The ports are declared in store.go, rings.go and query.go (deposit queues and queries) and
// gate.go, those of verify and restore in recovery.go.
// Package codec turns events into bytes. Package memory implements the ports in maps,
// zklive and jslog with ZooKeeper and JetStream; package storetest holds the suite
// that both pass. Package follow reads the log for other programs.
package eventstore
