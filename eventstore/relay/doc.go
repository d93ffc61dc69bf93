// Package relay carries events from the outbox to the log: each aggregate's in order,
// without gaps or duplicates, in atomic batches. See [Relay].
//
// relay.go leads the shards; shard.go reads the outbox, appends to the log what it
// lacks, and moves the mark.
package relay
