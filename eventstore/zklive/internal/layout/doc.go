// Package layout says how the live state lies in ZooKeeper. It is pure: paths and
// names, the data of nodes, the nodes that a state should have, and the operations
// that a change consists of, as plain data, each with the refusal that it stands for.
// No server is needed to use or to test it.
package layout
