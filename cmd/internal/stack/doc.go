// Package stack runs the three servers that Accession needs (ZooKeeper,
// PostgreSQL and NATS with JetStream) privately, on free loopback ports, in one
// data directory: for a laptop, for the demonstration and for tests.
//
// # What it promises
//
//   - Start returns when all three answer, or with an error that names the
//     server, shows the end of its log and says what to do. Nothing is left
//     running after an error.
//   - Whatever a server acknowledged is synced to disk: ZooKeeper and PostgreSQL
//     by their defaults, JetStream with sync_interval always.
//   - Stop and Start keep the data. Ports are kept too when they are still free;
//     while a Stack lives they never change, also when a server is killed and
//     started again.
//   - One directory, one stack: it is locked. The servers die with the process
//     that started them, even when it is killed (Linux); what an earlier process
//     left behind is found by its recorded id, compared with its command line,
//     and ended before the directory is used again.
//
// # The directory
//
//	lock              held while a stack runs
//	stack.json        addresses with passwords, process ids, start times; mode 0600
//	logs/             zookeeper.log, postgres.log, nats.log
//	zookeeper/ nats/  their data
//	postgres/         its data, see below
//
// PostgreSQL refuses to run as root. A stack that root starts runs it as the
// user "postgres" of the Debian package. When that user cannot enter the
// directory (below /root, for instance), PostgreSQL's data goes to
// /var/tmp/accession-postgres-ID, with the ID of stack.json; Remove deletes both.
//
// PostgreSQL and NATS ask for a password, made at the first start. ZooKeeper asks for
// none: every user of the machine can connect to it over loopback, so a private stack
// is not for deposits that others on the machine must not touch.
//
// The directory must belong to the user who starts the stack, and so must stack.json;
// no other user may be able to write them. Nothing that the file names is removed unless
// it lies below the directory, or is PostgreSQL's directory of this very stack.
//
// NATS is compiled in: it runs as a child process of the same binary, so that it
// can be killed like the others. Every main and TestMain that starts a stack
// therefore calls ChildMain first.
package stack
