// Package memory implements the ports of the event store in maps, for tests and
// examples: the same promises as the real servers, without them.
//
// A [Server] is what ZooKeeper is for real processes; each of them has a [Store],
// its session, which [Server.Expire] ends as an outage would. [Log] is the history.
package memory
