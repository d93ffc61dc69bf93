// Package files is the write path of files and slots, which have no live state: [Handler]
// and [Slots] fold the events of an aggregate, decide, and append to its own subject,
// expecting the event that they decided upon. A conflict makes them load and decide again.
//
// handler.go has the commands and reads of files, slots.go those of slots; write.go writes
// many aggregates at once, for both; cache.go is the cache of states.
package files
