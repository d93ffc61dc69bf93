// Package remote sends operations to a service over HTTP: a command line that uses it needs
// neither ZooKeeper nor NATS nor PostgreSQL. It reads the table of operations for the
// method, the path and the form of each, and keeps what signs a user in.
package remote
