// Package proof compares what the three servers hold: folding the log must give
// what ZooKeeper has now and what PostgreSQL shows.
//
// The log is the measure. [Compare] reads all of it and names every batch, job,
// setting and file that is otherwise elsewhere, is missing, or is there and should
// not be; queue entries and references that do not fit the jobs' states; and rows
// of history that do not add up with the log. It is meant for a system at rest:
// nothing works, the outbox is empty, the tables have caught up.
package proof
