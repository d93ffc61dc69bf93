package layout

import (
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/eventstore"
)

// Errors for the refusal of an operation, besides those of package eventstore. Each of
// them is eventstore.ErrConflict.
var (
	// ErrHolds says that a hold or pause was set or released since the decision read them.
	ErrHolds = fmt.Errorf("holds have changed: %w", eventstore.ErrConflict)
	// ErrBatch says that the status of a job's batch is not the one that the claim knew.
	ErrBatch = fmt.Errorf("the batch has changed: %w", eventstore.ErrConflict)
	// ErrHandOver says that what the claim of the next state proves does not hold; the
	// change is written alone.
	ErrHandOver = fmt.Errorf("not handed over: %w", eventstore.ErrConflict)
	// ErrNewerNodes says that a job's promise of working space or an object entry does not
	// exist, or exists already. Programs that are older than these nodes move jobs without
	// changing them.
	ErrNewerNodes = fmt.Errorf("the promise of working space or an object entry has changed: %w", eventstore.ErrConflict)
)

// Kind is what an operation does.
type Kind uint8

// The kinds of operations.
const (
	Check Kind = iota
	Create
	CreateEphemeral
	CreateSequential
	Set
	Delete
)

// Any is the version of an operation that takes a node as it is.
const Any int32 = -1

// Op is one operation of a multi.
type Op struct {
	Path string
	Data []byte
	// Refusal is the error to return if the server refuses this operation.
	Refusal error
	Version int32 // that the node must have; creates do not use it
	Kind    Kind
}

// Writes reports whether the operation changes its node.
func (o Op) Writes() bool { return o.Kind != Check }

// Size returns about how many bytes the operation takes in a request.
func (o Op) Size() int { return len(o.Path) + len(o.Data) + 64 }

// Ops are the operations of a multi, in order.
type Ops []Op

// Check adds a check that a node exists, at a version.
func (o *Ops) Check(path string, version int32, refusal error) {
	*o = append(*o, Op{path, nil, refusal, version, Check})
}

// Create adds the creation of a persistent node.
func (o *Ops) Create(path string, data []byte, refusal error) {
	*o = append(*o, Op{path, data, refusal, 0, Create})
}

// CreateEphemeral adds the creation of a node that is deleted when the session ends.
func (o *Ops) CreateEphemeral(path string, data []byte, refusal error) {
	*o = append(*o, Op{path, data, refusal, 0, CreateEphemeral})
}

// Set adds a write of data.
func (o *Ops) Set(path string, data []byte, version int32, refusal error) {
	*o = append(*o, Op{path, data, refusal, version, Set})
}

// Delete adds the deletion of a node.
func (o *Ops) Delete(path string, version int32, refusal error) {
	*o = append(*o, Op{path, nil, refusal, version, Delete})
}

// change adds the operations that turn the nodes from into the nodes to: deletes, children
// first, then writes, then creates, parents first. The node status carries the
// compare-and-set with token; the refusal of each operation is eventstore.ErrConflict.
func (o *Ops) change(from, to []Node, status string, token eventstore.Token) {
	version := func(path string) int32 {
		if path == status {
			return int32(token)
		}
		return Any
	}
	for i, n := range slices.Backward(from) {
		if find(to, n.Path, i) < 0 {
			o.Delete(n.Path, version(n.Path), eventstore.ErrConflict)
		}
	}
	for i, n := range to {
		if i = find(from, n.Path, i); i >= 0 && !from[i].same(n) {
			o.Set(n.Path, n.Data(), version(n.Path), eventstore.ErrConflict)
		}
	}
	for i, n := range to {
		if find(from, n.Path, i) < 0 {
			o.Create(n.Path, n.Data(), eventstore.ErrConflict)
		}
	}
}

// find returns the index of the node with a path, -1 = none. It looks at index i first,
// where two states of one aggregate mostly have the same node.
func find(nodes []Node, path string, i int) int {
	if i < len(nodes) && nodes[i].Path == path {
		return i
	}
	return slices.IndexFunc(nodes, func(n Node) bool { return n.Path == path })
}

// Refusal returns the error to return when the server refused the operation at an
// index; eventstore.ErrConflict if it did not say which one.
func (o Ops) Refusal(index int) error {
	if index < 0 || index >= len(o) || o[index].Refusal == nil {
		return eventstore.ErrConflict
	}
	return o[index].Refusal
}
