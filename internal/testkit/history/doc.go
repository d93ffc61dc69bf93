// Package history judges what happened while something broke, from records that the
// program under test does not write: the transaction log of ZooKeeper shows who held
// which lock when, and wrote what; the looks of a bystander, each with its time, tell
// what was to be seen. Only tests use it.
package history
