package layout

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Node is a persistent node that a state should have, or that was observed.
type Node struct {
	Path  string
	Value any // encoded as the data; nil: no data; []byte: the data itself
	// Counter marks a node that is created and deleted with the others, but whose data does
	// not follow from the state: transitions do not write it.
	Counter bool
}

// Data returns the data of the node.
func (n Node) Data() []byte {
	switch v := n.Value.(type) {
	case []byte:
		return v
	case *jobOfStatus:
		return Encode(JobStatusOf((*domain.Job)(v)))
	case *compactJob:
		return Encode(compactStatusOf((*domain.Job)(v)))
	default:
		return Encode(v)
	}
}

// same reports whether n need not be written where o was: their data is equal, or it is that
// of a counter. Values are compared before they are encoded, so that only changes are.
func (n Node) same(o Node) bool {
	if n.Counter || o.Counter {
		return true
	}
	switch v := n.Value.(type) {
	case []byte:
		return bytes.Equal(v, o.Data())
	case *jobOfStatus:
		if w, ok := o.Value.(*jobOfStatus); ok && v.Version != w.Version {
			return false
		}
		return bytes.Equal(n.Data(), o.Data())
	case *domain.Configuration:
		if equal(v, o.Value) {
			return true
		}
	case *domain.Metadata:
		if equal(v, o.Value) {
			return true
		}
	case *domain.Identifiers:
		if w, ok := o.Value.(*domain.Identifiers); ok && v.Primary == w.Primary && v.LocalID == nil && w.LocalID == nil && slices.Equal(v.ObjectKeys, w.ObjectKeys) {
			return true
		}
	}
	t := reflect.TypeOf(n.Value)
	return t == nil || t.Comparable() && n.Value == o.Value || reflect.DeepEqual(n.Value, o.Value)
}

// equal reports whether two values are equal by ==, which is quicker than
// reflect.DeepEqual and nearly always the answer.
func equal[T comparable](v *T, o any) bool {
	w, ok := o.(*T)
	return ok && *v == *w
}

// jobOfStatus is a job as the value of its status node, which is encoded without the parts
// that have nodes of their own.
type jobOfStatus domain.Job

// compactJob is a job as the value of its status node, which is encoded with all parts: in a
// compact tree, after the job has left its queue (J20).
type compactJob domain.Job

// jobPaths are the paths of the nodes that a job has until it leaves its queue.
type jobPaths struct {
	dir, configuration, identifiers, metadata, status, priority, spaceNeeded, claims string
}

func (r Root) jobPaths(id domain.JobID) jobPaths {
	dir := r.Job(id)
	return jobPaths{dir, dir + "/configuration", dir + "/identifiers", dir + "/metadata", dir + "/status",
		dir + "/priority", dir + "/space_needed", dir + "/claims"}
}

// JobNodes returns the nodes of a job, parents first: its own, its queue entry, its
// batch's reference, the working space promised to it, and its object entries. In a
// compact tree a job that has left its queue has three: its own, its status, which holds
// all of its data, and the reference. A tree is compact from format 2 on.
func (r Root) JobNodes(j domain.Job, compact bool) []Node {
	paths := r.jobPaths(j.ID)
	nodes := r.jobNodes(nil, &paths, &j, compact)
	return append(nodes, r.newerNodes(j)...)
}

// newerNodes returns the nodes of a job that the first programs did not have: its promise of
// working space, and its object entries.
func (r Root) newerNodes(j domain.Job) (nodes []Node) {
	if j.Promised() {
		nodes = append(nodes, Node{Path: r.Promise(j.ID), Value: j.SpaceNeeded})
	}
	for _, key := range j.Objects() {
		nodes = append(nodes, Node{Path: r.ObjectEntry(key, j.ID)})
	}
	return nodes
}

// NewerPaths returns the paths of those nodes, before and after a transition, that the first
// programs did not have.
func (r Root) NewerPaths(t eventstore.Transition[domain.Job]) (paths []string) {
	for _, n := range append(r.newerNodes(t.From), r.newerNodes(t.To)...) {
		paths = append(paths, n.Path)
	}
	return paths
}

// maxJobNodes is how many nodes a job has, at most, without its [Root.newerNodes].
const maxJobNodes = 10

// jobNodes appends the nodes of a job without its [Root.newerNodes].
func (r Root) jobNodes(nodes []Node, p *jobPaths, j *domain.Job, compact bool) []Node {
	if j.State == domain.JobNone || j.State == domain.JobDeleted {
		return nodes
	}
	ref := Node{Path: r.Ref(j.Configuration.BatchID, j.State.Sub(), j.ID)}
	if compact && j.Cleaned {
		return append(nodes, Node{Path: p.dir}, Node{Path: p.status, Value: (*compactJob)(j)}, ref)
	}
	nodes = append(nodes,
		Node{Path: p.dir},
		Node{Path: p.configuration, Value: &j.Configuration},
		Node{Path: p.identifiers, Value: &j.Identifiers},
		Node{Path: p.metadata, Value: &j.Metadata},
		Node{Path: p.status, Value: (*jobOfStatus)(j)},
		Node{Path: p.priority, Value: j.Priority},
		Node{Path: p.spaceNeeded, Value: j.SpaceNeeded},
		Node{Path: p.claims, Value: ClaimCount{Version: j.Version}, Counter: true})
	if entry := r.QueueEntry(*j); entry != "" {
		nodes = append(nodes, Node{Path: entry})
	}
	return append(nodes, ref)
}

// BatchNodes returns the nodes of a batch, parents first, without its references to
// jobs. A deleted batch keeps its nodes until they are removed in bounded steps.
func (r Root) BatchNodes(b domain.Batch) []Node {
	if b.State == domain.BatchNone {
		return nil
	}
	nodes := []Node{{Path: r.Batch(b.ID)}, {Path: r.Submission(b.ID), Value: b.Submission},
		{Path: r.BatchStatus(b.ID), Value: BatchStatusOf(b)}}
	if b.Listing != nil {
		nodes = append(nodes, Node{Path: r.Progress(b.ID), Value: Progress{Listing: *b.Listing, NextRow: b.NextRow}})
	}
	if b.Report != nil {
		nodes = append(nodes, Node{Path: r.StatusReport(b.ID), Value: b.Report})
	}
	if b.NextRow > 0 || slices.Contains(withStates, b.State) {
		nodes = append(nodes, r.statesNodes(b.ID)...)
	}
	return append(nodes, r.ticketNode(eventstore.DepositOfBatch(b))...)
}

// statesNodes returns the directories of a batch's references to jobs, one for each
// sub-state. They come with its first job, or with its start when it has none.
func (r Root) statesNodes(id domain.BatchID) []Node {
	nodes := []Node{{Path: r.States(id)}}
	for _, sub := range domain.Subs {
		nodes = append(nodes, Node{Path: r.Sub(id, sub)})
	}
	return nodes
}

// withStates are the states in which a batch has these directories, whether it has jobs or
// not.
var withStates = []domain.BatchState{domain.BatchProcessing, domain.BatchReporting, domain.BatchCompleted, domain.BatchFailed, domain.BatchUpdateReporting}

// SettingNodes returns the nodes of a setting: its version, and its value.
func (r Root) SettingNodes(s domain.Setting) (nodes []Node) {
	if s.Version > 0 {
		nodes = append(nodes, Node{Path: r.SettingVersion(s.Aggregate()), Value: s.Version})
	}
	if value := valueNode(s.SettingValue); value != nil {
		nodes = append(nodes, Node{Path: r.SettingValue(s.Kind, s.Name), Value: value})
	}
	return nodes
}

// Expected returns nodes in the form of the port: by their names below the root,
// counters without their data.
func (r Root) Expected(nodes []Node) eventstore.Nodes {
	out := make(eventstore.Nodes, len(nodes))
	for _, n := range nodes {
		if n.Counter {
			n.Value = nil
		}
		out[r.Name(n.Path)] = string(n.Data())
	}
	return out
}

// observed is the inverse of Expected, for nodes that were observed: parents first.
func (r Root) observed(nodes eventstore.Nodes) []Node {
	out := make([]Node, 0, len(nodes))
	for _, name := range slices.Sorted(maps.Keys(nodes)) { // a parent's name is a prefix of its children's
		out = append(out, Node{Path: r.At(name), Value: []byte(nodes[name])})
	}
	return out
}
