// Package e2e tests the whole program: deposits from a depositor's web server through
// ZooKeeper, the log and the tables, with every fault that its documents name.
//
// A test has an [installation] of its own. It runs the program in it as processes,
// which can be killed, or as run.Service and the command line in its own process,
// which is quicker. The harness is in installation_test.go, service_test.go (running
// the program), wait_test.go (waiting for events and states) and agree_test.go (what
// must hold at the end).
package e2e
