// Package files is the write path of files, which have no live state: [Handler] folds
// a file's events, decides, and appends to the file's own subject, expecting the event
// that it decided upon. A conflict makes it load and decide again.
//
// handler.go has the commands and reads, all.go the write of many files at once,
// cache.go the cache of states.
package files
