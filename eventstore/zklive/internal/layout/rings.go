package layout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
)

// ErrRing says that a ring, or how many batches of a user run, is not as it was read.
var ErrRing = fmt.Errorf("the deposit queue has changed: %w", eventstore.ErrConflict)

// RingQueues are the deposit queues of which every tree has the nodes.
var RingQueues = []string{fair.QueueMetadata, fair.QueueQuery}

// Ring returns the path of the ring of a deposit queue, an eventstore.RingState.
func (r Root) Ring(queue string) string { return r.At("/queues/" + queue + "/ring") }

// RingUsers returns the path of the directory of the users who have waiting batches.
func (r Root) RingUsers(queue string) string { return r.At("/queues/" + queue + "/users") }

// RingUser returns the path of the directory of a user's waiting batches.
func (r Root) RingUser(queue, user string, slot int64) string {
	return r.RingUsers(queue) + fmt.Sprintf("/%010d-", slot) + text.EncodeUser(user)
}

// ParseRingUser returns the slot and the user that the name of such a directory holds.
func ParseRingUser(name string) (slot int64, user string, ok bool) {
	digits, encoded, _ := strings.Cut(name, "-")
	slot, err := strconv.ParseInt(digits, 10, 64)
	user, uerr := text.DecodeUser(encoded)
	return slot, user, err == nil && uerr == nil
}

// RingEntry returns the path of the entry of a waiting deposit. Its name holds what a
// processor looks at, so that one listing of names is enough.
func (r Root) RingEntry(queue, user string, slot int64, id string, size int64) string {
	return r.RingUser(queue, user, slot) + "/" + id + "-" + strconv.FormatInt(size, 10)
}

// ParseRingEntry returns the deposit and the size that the name of an entry holds.
func ParseRingEntry(name string) (d fair.Deposit, ok bool) {
	id, digits, _ := strings.Cut(name, "-")
	n := eventstore.DepositNumber(id)
	size, err := strconv.ParseInt(digits, 10, 64)
	return fair.Deposit{ID: id, Number: n, Size: size}, err == nil && n > 0
}

// RingNames returns the path of the directory of the slots of users.
func (r Root) RingNames(queue string) string { return r.At("/queues/" + queue + "/names") }

// RingName returns the path of the slot of a user who has waiting batches.
func (r Root) RingName(queue, user string) string {
	return r.RingNames(queue) + "/" + text.EncodeUser(user)
}

// AllRunning returns the path of the directory of the users whose batches run.
func (r Root) AllRunning(queue string) string { return r.At("/queues/" + queue + "/running") }

// Running returns the path of the number of a user's running batches; they are its
// children.
func (r Root) Running(queue, user string) string {
	return r.AllRunning(queue) + "/" + text.EncodeUser(user)
}

// Pools returns the path of the directory of the pools of a deposit queue.
func (r Root) Pools(queue string) string { return r.At("/queues/" + queue + "/pools") }

// Pool returns the path of the number of the synchronous deposits that run, a RunningCount;
// they are its children.
func (r Root) Pool(queue string) string { return r.Pools(queue) + "/synchronous" }

// RunningOf returns the path of the number among which a deposit with the ticket runs.
func (r Root) RunningOf(t domain.Ticket) string {
	if t.Synchronous {
		return r.Pool(t.Queue)
	}
	return r.Running(t.Queue, t.User)
}

// RunningDirs returns the directories of the numbers of running deposits of a queue.
func (r Root) RunningDirs(queue string) []string {
	return []string{r.AllRunning(queue), r.Pools(queue)}
}

// RunningCount is the data of a user's running batches, and of a pool.
type RunningCount struct {
	N int `json:"n"`
}

// ringDirs returns the directories of the rings, which every tree has.
func (r Root) ringDirs() (dirs []string) {
	for _, queue := range RingQueues {
		dirs = append(dirs, r.RingDirs(queue)...)
	}
	return dirs
}

// RingDirs returns the directories of the ring of a deposit queue, which every tree has.
func (r Root) RingDirs(queue string) []string {
	return []string{r.RingUsers(queue), r.RingNames(queue), r.AllRunning(queue), r.Pools(queue)}
}

// rings returns the paths of the rings of all deposit queues.
func (r Root) rings() (all []string) {
	for _, queue := range RingQueues {
		all = append(all, r.Ring(queue))
	}
	return all
}

// ticketNode returns the node of a deposit in its queue, if it waits or runs.
func (r Root) ticketNode(d eventstore.Deposit) []Node {
	switch p := d.Ticket; {
	case d.Waits():
		return []Node{{Path: r.RingEntry(p.Queue, p.User, p.Slot, d.Aggregate.ID, d.Size)}}
	case d.Runs():
		return []Node{{Path: r.RunningOf(*p) + "/" + d.Aggregate.ID}}
	}
	return nil
}

// TicketNode returns the path of the node of a deposit in its queue, "" = none.
func (r Root) TicketNode(d eventstore.Deposit) string {
	for _, n := range r.ticketNode(d) {
		return n.Path
	}
	return ""
}

// RingInputs are what is read for a change by which a batch joins a deposit queue, or
// runs no longer.
type RingInputs struct {
	// Now is the ring, for a batch that joins with its user, or returns.
	Now      eventstore.RingState
	Token    int32
	Joins    bool // the user has no waiting batch
	Returned bool // the batch was there before
	// Running is how many batches of the user run, for one that runs no longer.
	Running      int
	RunningToken int32
}

// Step returns the write by which a batch comes into the ring.
func (in RingInputs) Step(b eventstore.Deposit) eventstore.RingStep {
	s := eventstore.RingStep{Rule: eventstore.StepReturned, User: b.Ticket.User, Slot: b.Ticket.Slot, Deposit: b.Aggregate.ID, Size: b.Size, RingPosition: in.Now.RingPosition}
	if in.Joins {
		s.Rule = eventstore.StepJoined
	}
	return s
}

// ticketBefore adds what has to be there before the node of a batch in its queue.
func (r Root) ticketBefore(ops *Ops, c eventstore.Change, in *RingInputs) {
	from, to, _ := c.Deposits()
	switch l := c.Leave; {
	case !from.Waits() && to.Waits() && in.Joins:
		p := to.Ticket
		ops.Create(r.RingUser(p.Queue, p.User, p.Slot), nil, ErrRing)
		ops.Create(r.RingName(p.Queue, p.User), Encode(p.Slot), ErrRing)
	case l.Grabbed():
		ops.Check(r.Locks(), int32(l.HoldsVersion), ErrHolds)
		ops.Check(r.QueueConfig(l.Queue), int32(l.Settings), ErrRing)
		r.countUp(ops, r.Running(l.Queue, l.Decision.User), l.Running, l.RunningToken)
	case c.Pool != nil && to.Runs():
		ops.Check(r.QueueConfig(c.Pool.Queue), int32(c.Pool.Settings), ErrRing)
		r.countUp(ops, r.Pool(c.Pool.Queue), c.Pool.Running, c.Pool.RunningToken)
	}
}

// countUp adds that one more deposit runs than were read.
func (r Root) countUp(ops *Ops, path string, running int, token eventstore.Token) {
	n := Encode(RunningCount{running + 1})
	if running == 0 {
		ops.Create(path, n, ErrRing)
	} else {
		ops.Set(path, n, int32(token), ErrRing)
	}
}

// ticketAfter adds what follows the node of a batch in its queue: the ring, and what is
// left empty.
func (r Root) ticketAfter(ops *Ops, c eventstore.Change, in *RingInputs) {
	from, to, _ := c.Deposits()
	switch {
	case c.Leave != nil:
		r.leave(ops, *c.Leave)
	case !from.Waits() && to.Waits() && (in.Joins || in.Returned):
		ops.Set(r.Ring(to.Ticket.Queue), Encode(in.Now.After(in.Step(to))), in.Token, ErrRing)
	case from.Runs() && !to.Runs():
		path := r.RunningOf(*from.Ticket)
		if in.Running > 1 {
			ops.Set(path, Encode(RunningCount{in.Running - 1}), in.RunningToken, ErrRing)
		} else {
			ops.Delete(path, in.RunningToken, ErrRing)
		}
	}
}

// leave adds the decision by which a batch leaves its ring.
func (r Root) leave(ops *Ops, l eventstore.Leave) {
	d := l.Decision
	if d.Emptied {
		ops.Delete(r.RingUser(l.Queue, d.User, d.Slot), Any, ErrRing)
		ops.Delete(r.RingName(l.Queue, d.User), Any, ErrRing)
	}
	ops.Set(r.Ring(l.Queue), Encode(l.Ring.After(l.Step())), int32(l.RingToken), ErrRing)
	if l.Grabbed() { // last: who only lost a race is refused before
		ops.CreateEphemeral(r.Lock(l.Claim.Aggregate), Encode(Holder{l.Claim.Worker}), eventstore.ErrLocked)
	}
}

// RingNodes returns the nodes that the batches of a deposit queue share, parents first:
// the ring, and the users whose batches wait or run.
func (r Root) RingNodes(queue string, deposits []eventstore.Deposit, at eventstore.RingState) []Node {
	waiting, running, pooled := map[string]int64{}, map[string]int{}, 0
	for _, b := range deposits {
		switch p := b.Ticket; {
		case p == nil || p.Queue != queue:
			continue
		case b.Waits():
			waiting[p.User] = p.Slot
		case p.Pooled():
			pooled++
		default:
			running[p.User]++
		}
		at.NextSlot = max(at.NextSlot, b.Ticket.Slot+1)
	}
	at.NextSlot = max(at.NextSlot, 1)
	nodes := []Node{{Path: r.Ring(queue), Value: at}}
	for _, user := range slices.Sorted(maps.Keys(waiting)) {
		nodes = append(nodes, Node{Path: r.RingUser(queue, user, waiting[user])}, Node{Path: r.RingName(queue, user), Value: waiting[user]})
	}
	for _, user := range slices.Sorted(maps.Keys(running)) {
		nodes = append(nodes, Node{Path: r.Running(queue, user), Value: RunningCount{running[user]}})
	}
	if pooled > 0 {
		nodes = append(nodes, Node{Path: r.Pool(queue), Value: RunningCount{pooled}})
	}
	return nodes
}
