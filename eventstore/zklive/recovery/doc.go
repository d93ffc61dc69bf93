// Package recovery is what verify and restore need of the tree: a survey of all there
// is by names, the nodes of one aggregate as they lie there, and a tree made anew from
// the history.
package recovery
