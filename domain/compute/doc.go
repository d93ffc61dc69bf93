// Package compute has the rules of the compute queue: what may happen to an entry, and which
// entry a worker takes next. It is pure.
package compute
