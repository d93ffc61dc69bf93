// Package jslog keeps the log of events in a JetStream stream.
//
// The stream takes every subject below a prefix, one exact subject per
// aggregate; an event is a CloudEvent in structured mode, see codec.Encode. The
// stream's sequence is the event's.
//
// How it keeps the promises of eventstore.Log:
//
//   - Every append carries Nats-Expected-Last-Subject-Sequence for its exact
//     subject. The duplicate window is not used: it forgets.
//   - Several events go as one atomic batch, of which nothing is seen before all
//     of it is there.
//   - An answer that got lost is found out by reading the last event of each
//     subject and comparing number and command. Sending again is safe: the
//     expectation refuses the second.
//   - The stream refuses deletes and purges and has no limits. [Open] refuses a
//     stream with other settings. Nothing of this stops an administrator of the
//     server: run with permissions that deny updating and deleting the stream.
//
// JetStream acknowledges before it fsyncs, unless the server runs with
// sync_interval: always. A client cannot see that setting; it belongs to the
// server's configuration.
package jslog
