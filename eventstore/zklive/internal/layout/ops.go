package layout

import (
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/eventstore"
)

// What the refusal of an operation stands for, besides the errors of the port. Each
// of them is eventstore.ErrConflict.
var (
	// ErrHolds says that a hold or pause was set or lifted since the decision read them.
	ErrHolds = fmt.Errorf("holds have changed: %w", eventstore.ErrConflict)
	// ErrBatch says that the status of a job's batch is not the one that the claim knew.
	ErrBatch = fmt.Errorf("the batch has changed: %w", eventstore.ErrConflict)
	// ErrHandOver says that what the claim of the next state proves does not hold; the
	// change is written alone.
	ErrHandOver = fmt.Errorf("not handed over: %w", eventstore.ErrConflict)
	// ErrPromise says that a job's promise is not there, or is there already. Programs before
	// these promises move jobs beside this one and leave the node alone.
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
	Version int32 // that the node must have; not looked at by creates
	// Refusal is the error that the server's refusal of this operation stands for.
	Refusal error
}

// Writes reports whether the operation changes its node.
func (o Op) Writes() bool { return o.Kind != Check }

// Size returns about how many bytes the operation takes in a request.
func (o Op) Size() int { return len(o.Path) + len(o.Data) + 64 }

// Ops are the operations of a multi, in order.
type Ops []Op

// Check adds a proof that a node is there, at a version.
func (o *Ops) Check(path string, version int32, refusal error) {
	*o = append(*o, Op{Check, path, nil, version, refusal})
}

// Create adds the making of a persistent node.
func (o *Ops) Create(path string, data []byte, refusal error) {
	*o = append(*o, Op{Create, path, data, 0, refusal})
}

// CreateEphemeral adds the making of a node that goes with the session.
func (o *Ops) CreateEphemeral(path string, data []byte, refusal error) {
	*o = append(*o, Op{CreateEphemeral, path, data, 0, refusal})
}

// Set adds a write of data.
func (o *Ops) Set(path string, data []byte, version int32, refusal error) {
	*o = append(*o, Op{Set, path, data, version, refusal})
}

// Delete adds a removal.
func (o *Ops) Delete(path string, version int32, refusal error) {
	*o = append(*o, Op{Delete, path, nil, version, refusal})
}

// change adds what leads from some nodes to others: deletes, children first, then
// writes, then creates, parents first. The status node carries the compare-and-set;
// the refusal of each operation is eventstore.ErrConflict.
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

// Refusal returns what it stands for that the server refused the operation at an
// index; eventstore.ErrConflict when it does not say which.
func (o Ops) Refusal(index int) error {
	if index < 0 || index >= len(o) || o[index].Refusal == nil {
		return eventstore.ErrConflict
	}
	return o[index].Refusal
}
