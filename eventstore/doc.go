// Package eventstore is the write path: it decides, commits one atomic write to
// the live state together with its events, and carries the events to the log.
//
// What it promises:
//
//   - One decision is one write. State, queue entries, references, lock and
//     events change together or not at all.
//   - An aggregate's events are numbered from 1 without hole or double, and stand
//     in the log once, in that order.
//   - A write that decided on an outdated state, or whose mover lost its claim, is
//     refused and changes nothing.
//   - An unknown outcome (a lost answer) is resolved by looking for the command,
//     never by trying blindly again.
//
// Main path: [Handler] loads, calls domain.Decide and commits through [Live]; the
// events wait in the [Outbox]; [Relay] takes them to the [Log] in order.
//
// Files have no live state: [FileHandler] folds a file's events, decides, and
// appends to the file's own subject, expecting the event that it decided upon.
//
// The ports are declared in store.go. Package memory implements them in maps,
// zklive and jslog with ZooKeeper and JetStream; package storetest holds the suite
// that both pass.
package eventstore
