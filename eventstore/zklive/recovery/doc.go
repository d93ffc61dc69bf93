// Package recovery has what verify and restore need of the tree: a survey of all nodes
// by name, the observed nodes of one aggregate, and the restore of a tree from the
// history.
package recovery
