// Package projections turns the event log into tables that people and programs
// ask: PostgreSQL's schemas accession (tables) and report (views).
//
// # Promises
//
// The tables equal the fold of the log up to the checkpoint: states are computed
// with the domain's own Evolve functions, never a second time in SQL. Each event
// is applied exactly once, because the checkpoint moves in the same transaction
// and only from where it was found. A projector that finds it elsewhere stops.
//
// # How it reads
//
// [Projector] takes the log as an iterator of recorded events ([Source]), so that it
// does not depend on the log's server and a rebuild can use another source. The events
// are applied in the order of the log, up to two thousand in a transaction: history
// rows, then one row for each batch, job, file and setting that the events touched.
//
// # Where things are
//
// projector.go reads events, collects them and applies them in transactions; poison.go
// holds events that cannot be applied. internal/fold turns events into rows, one read
// model a file. Package query reads the tables, for people and for checks; it also
// folds the past in memory. Package rebuild fills new tables beside the live ones,
// compares and swaps.
package projections
