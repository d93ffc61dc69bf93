package layout

import (
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/eventstore"
)

// Errors for the refusal of an operation, besides those of package eventstore. Each of
// them is eventstore.ErrConflict.
var (
	// ErrHolds says that a hold or pause was set or lifted since the decision read them.
	ErrHolds = fmt.Errorf("holds have changed: %w", eventstore.ErrConflict)
	// ErrBatch says that the status of a job's batch is not the one that the claim knew.
	ErrBatch = fmt.Errorf("the batch has changed: %w", eventstore.ErrConflict)
	// ErrHandOver says that what the claim of the next state proves does not hold; the
	// change is written alone.
	ErrHandOver = fmt.Errorf("not handed over: %w", eventstore.ErrConflict)
	// ErrPromise says that a job's promise does not exist, or exists already. Older
	// programs, which do not know this node, move jobs without changing it.
	ErrPromise = fmt.Errorf("promised otherwise: %w", eventstore.ErrConflict)
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
	Kind    Kind
	Path    string
	Data    []byte
	Version int32 // that the node must have; creates do not use it
	// Refusal is the error to return if the server refuses this operation.
	Refusal error
}

// Writes reports whether the operation changes its node.
func (o Op) Writes() bool { return o.Kind != Check }

// Size returns about how many bytes the operation takes in a request.
func (o Op) Size() int { return len(o.Path) + len(o.Data) + 64 }

// Ops are the operations of a multi, in order.
type Ops []Op

// Check adds a check that a node exists, at a version.
func (o *Ops) Check(path string, version int32, refusal error) {
	*o = append(*o, Op{Check, path, nil, version, refusal})
}

// Create adds the creation of a persistent node.
func (o *Ops) Create(path string, data []byte, refusal error) {
	*o = append(*o, Op{Create, path, data, 0, refusal})
}

// CreateEphemeral adds the creation of a node that is deleted when the session ends.
func (o *Ops) CreateEphemeral(path string, data []byte, refusal error) {
	*o = append(*o, Op{CreateEphemeral, path, data, 0, refusal})
}

// Set adds a write of data.
func (o *Ops) Set(path string, data []byte, version int32, refusal error) {
	*o = append(*o, Op{Set, path, data, version, refusal})
}

// Delete adds the deletion of a node.
func (o *Ops) Delete(path string, version int32, refusal error) {
	*o = append(*o, Op{Delete, path, nil, version, refusal})
}

// change adds the operations that turn some nodes into others: deletes, children first,
// then writes, then creates, parents first. The status node carries the
// compare-and-set; the refusal of each operation is eventstore.ErrConflict.
func (o *Ops) change(from, to []Node, status string, token eventstore.Token) {
	in := func(nodes []Node, path string) int {
		return slices.IndexFunc(nodes, func(n Node) bool { return n.Path == path })
	}
	version := func(path string) int32 {
		if path == status {
			return int32(token)
		}
		return Any
	}
	for _, n := range slices.Backward(from) {
		if in(to, n.Path) < 0 {
			o.Delete(n.Path, version(n.Path), eventstore.ErrConflict)
		}
	}
	for _, n := range to {
		if i := in(from, n.Path); i >= 0 && !from[i].same(n) {
			o.Set(n.Path, n.Data(), version(n.Path), eventstore.ErrConflict)
		}
	}
	for _, n := range to {
		if in(from, n.Path) < 0 {
			o.Create(n.Path, n.Data(), eventstore.ErrConflict)
		}
	}
}

// Refusal returns the error to return when the server refused the operation at an
// index; eventstore.ErrConflict if it did not say which one.
func (o Ops) Refusal(index int) error {
	if index < 0 || index >= len(o) || o[index].Refusal == nil {
		return eventstore.ErrConflict
	}
	return o[index].Refusal
}
