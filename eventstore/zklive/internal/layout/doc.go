// Package layout defines how the live state is stored in ZooKeeper. It is pure: paths
// and names, the data of nodes, the nodes that a state should have, and the operations
// that a change consists of, as plain data, each with the error to return if the server
// refuses it. No server is needed to use or to test it.
package layout
