// Package relay carries events from the outbox to the log: each aggregate's in order,
// without hole or double, in atomic batches. See [Relay].
//
// relay.go leads the shards; shard.go reads the outbox and moves its mark; publish.go
// appends to the log what it lacks.
package relay
