package layout

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// EntryDirs returns the directories of the nodes of entries.
func (r Root) EntryDirs() []string {
	return []string{r.EntryDir(entry.Pending), r.EntryDir(entry.Staging), r.EntryDir(entry.Successful), r.EntryDir(entry.Failed),
		r.Entries(), r.EntryKeys(), r.EntryClaims(), r.EntryCommands()}
}

// Compute returns the path of the directory of what entries have besides their names.
func (r Root) Compute() string { return r.At("/compute") }

// Entries returns the path of the directory of the statuses of entries.
func (r Root) Entries() string { return r.At("/compute/entries") }

// EntryKeys returns the path of the directory of the keys of entries.
func (r Root) EntryKeys() string { return r.At("/compute/keys") }

// EntryDir returns the path of the directory of the names of entries in a state.
func (r Root) EntryDir(s entry.State) string {
	switch s {
	case entry.Pending:
		return r.At("/unowned")
	case entry.Staging, entry.Running:
		return r.At("/owned")
	case entry.Successful:
		return r.At("/done")
	default:
		return r.At("/failed")
	}
}

// EntryName returns the path of the node of an entry among those in the same state, an
// [EntryNode].
func (r Root) EntryName(e compute.Entry) string { return r.EntryDir(e.State) + "/" + e.Name().String() }

// EntryStatus returns the path of the status of an entry.
func (r Root) EntryStatus(id compute.ID) string { return r.At("/compute/entries/" + EntrySequence(id)) }

// EntryClaims returns the path of the directory of the claims of entries.
func (r Root) EntryClaims() string { return r.At("/compute/claims") }

// EntryCommands returns the path of the directory of the claims that took leases and can be sent
// again.
func (r Root) EntryCommands() string { return r.At("/compute/commands") }

// EntryCommand returns the path of the node of a claim that took a lease, which has the sequence
// of its entry. It outlives the lease, until the leader looks for overdue ones.
func (r Root) EntryCommand(id string) string { return r.At("/compute/commands/" + id) }

// IsEntryCommand reports whether a node of EntryCommands has the name of one.
func IsEntryCommand(name string) bool { return strings.HasPrefix(name, eventstore.ClaimCommand) }

// EntryKey returns the path of the node of a key, which has the sequence of its entry.
func (r Root) EntryKey(key string) string {
	return r.At(fmt.Sprintf("/compute/keys/%x", sha256.Sum256([]byte(key))))
}

// EntrySequence returns the digits of an entry's id.
func EntrySequence(id compute.ID) string { return fmt.Sprintf("%010d", id.Sequence()) }

// EntryNode is the data of the node of an entry that has its name.
type EntryNode struct {
	Dataset string      `json:"dataset"`
	GroupID string      `json:"groupid"`
	State   entry.State `json:"state"`
	Worker  string      `json:"worker"`
	Key     string      `json:"key"`
	Attempt int         `json:"attempt"`
}

// EntryNodeOf returns the data of the node of an entry with its name, in a state.
func EntryNodeOf(e compute.Entry, s entry.State) EntryNode {
	return EntryNode{e.Work.Dataset, e.Work.Group, s, e.Worker, e.Work.Key, e.Attempt}
}

// EntryStatus is the data of /compute/entries/SEQUENCE.
type EntryStatus struct {
	Name         string        `json:"name"`
	State        entry.State   `json:"state"`
	Attempt      int           `json:"attempt"`
	Passed       int           `json:"passed"`
	Owner        string        `json:"owner,omitempty"`
	Key          string        `json:"key"`
	Request      entry.Request `json:"request"`
	Result       *entry.Result `json:"result,omitempty"`
	Requested    domain.Time   `json:"requested"`
	LastModified domain.Time   `json:"last_modified"`
	Common
}

// Entry returns the entry of a status. It is an error if its name is not that of an entry.
func (s EntryStatus) Entry() (compute.Entry, error) {
	n, err := entry.ParseName(s.Name)
	if err != nil {
		return compute.Entry{}, err
	}
	return compute.Entry{ID: compute.NewID(n.Sequence), Version: s.Version, State: s.State, Attempt: s.Attempt, Passed: s.Passed, Worker: s.Owner,
		Work:    entry.Work{Dataset: n.Dataset, Group: n.Group.Group, Priority: n.Priority, Key: s.Key},
		Request: s.Request, Result: s.Result, Reason: s.reason(), Requested: s.Requested, Modified: s.LastModified, CommandID: s.Command}, nil
}

// EntryNodes returns the nodes of an entry, without its claim.
func (r Root) EntryNodes(e compute.Entry) []Node {
	if e.State == entry.None || e.State == entry.Purged {
		return nil
	}
	status := EntryStatus{Name: e.Name().String(), State: e.State, Attempt: e.Attempt, Passed: e.Passed, Owner: e.Worker, Key: e.Work.Key, Request: e.Request, Result: e.Result,
		Requested: e.Requested, LastModified: e.Modified, Common: common(e.Version, e.CommandID, e.Reason)}
	return []Node{{Path: r.EntryName(e), Value: EntryNodeOf(e, e.State)}, {Path: r.EntryStatus(e.ID), Value: status}, {Path: r.EntryKey(e.Work.Key), Value: []byte(EntrySequence(e.ID))}}
}

// entry adds what a change does to the nodes of an entry, and the claim that it makes.
func (r Root) entry(ops *Ops, c eventstore.Change) {
	ops.change(r.EntryNodes(c.Entry.From), r.EntryNodes(c.Entry.To), r.Status(c), c.Token)
	if c.Lease != nil {
		ops.Delete(r.Lock(c.Aggregate()), int32(c.Lease.Version), eventstore.ErrConflict)
	}
	switch claim := c.EntryClaim; {
	case claim == nil:
	case claim.Lease != nil:
		ops.Create(r.Lock(claim.Aggregate), LeaseData(*claim.Lease), eventstore.ErrLocked)
		r.command(ops, c.Entry.To.ID, claim.Lease)
	default:
		ops.CreateEphemeral(r.Lock(claim.Aggregate), Encode(Holder{claim.Worker}), eventstore.ErrLocked)
	}
}

// command adds the note by which the lease of an entry is found when its claim is sent again.
func (r Root) command(ops *Ops, id compute.ID, l *eventstore.Lease) {
	switch node, data := r.EntryCommand(l.Command), []byte(EntrySequence(id)); {
	case l.Command == "":
	case l.Before < 0:
		ops.Create(node, data, eventstore.ErrRepeated)
	default:
		ops.Set(node, data, int32(l.Before), eventstore.ErrRepeated)
	}
}

// Lease is the data of the claim of a worker that has no session. The node is not ephemeral:
// the time at which it was last written, and the seconds, say when it is overdue.
type Lease struct {
	Worker  string  `json:"worker"`
	SHA256  string  `json:"sha256"` // of the token
	Seconds float64 `json:"seconds"`
	Said    string  `json:"said,omitempty"`    // of the worker about its progress
	Command string  `json:"command,omitempty"` // the claim by which it was taken, if that can be sent again
	Salt    string  `json:"salt,omitempty"`    // of a token that the same claim makes again
}

// LeaseData returns the data of the node of a lease.
func LeaseData(l eventstore.Lease) []byte {
	return Encode(Lease{l.Worker, l.SHA256, l.Timeout.Seconds(), l.Progress, l.Command, l.Salt})
}

// RunEntry returns the operations by which the worker of an entry shows that it has its
// inputs. The status stays: its version is the fence.
func (r Root) RunEntry(c *eventstore.Claim, at eventstore.Loaded[compute.Entry]) (ops Ops) {
	ops.Check(r.Worker(c.Worker), Any, eventstore.ErrFenced)
	ops.Check(r.Lock(c.Aggregate), Any, eventstore.ErrFenced)
	ops.Check(r.EntryStatus(at.State.ID), int32(at.Token), eventstore.ErrFenced)
	ops.Set(r.EntryName(at.State), Encode(EntryNodeOf(at.State, entry.Running)), Any, eventstore.ErrFenced)
	return ops
}
