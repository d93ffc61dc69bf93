package zklive

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// settle finds out whether an earlier try with an unknown outcome was applied: nil
// without an error means that it was not, and that the changes may be sent again. A
// multi is atomic, so only the first change is looked for.
func (call *commitCall) settle(ctx context.Context) ([]eventstore.Committed, error) {
	c := call.changes[0]
	event := c.Events[len(c.Events)-1]
	unknown := func(err error) error {
		return &eventstore.Error{Op: "find out the outcome of a commit to", Aggregate: c.Aggregate(), Err: errors.Join(eventstore.ErrUnknown, err)}
	}
	if err := call.reader.conn.Sync(ctx); err != nil {
		return nil, unknown(err)
	}
	version, command, token, err := call.readStatus(ctx, c)
	switch {
	case err != nil:
		return nil, unknown(err)
	case command == event.CommandID && version == event.Version:
		return call.applied(ctx)
	case version == event.Version-1 && c.Setting == nil && (version == 0 || token == c.Token):
		return nil, nil
	}
	// Another process has changed or removed the aggregate, so the event itself is
	// looked for: in the outbox, then in the log. Both are read twice, because the
	// relay may move the event between the two reads.
	for range 2 {
		command, err := call.outbox.find(ctx, layout.ShardOf(c, call.outbox.shards), event.ID())
		if err == nil && command == "" && call.inLog != nil {
			command, err = call.inLog(ctx, c.Aggregate(), event.Version)
		}
		switch {
		case err != nil:
			return nil, unknown(err)
		case command == event.CommandID:
			return call.applied(ctx)
		case command != "":
			return nil, call.wrap(eventstore.ErrConflict)
		}
	}
	if version < event.Version {
		return nil, nil
	}
	return nil, call.wrap(eventstore.ErrConflict)
}

// readStatus reads the status node of a change: the version, the command that wrote it,
// and the token. All are zero if there is no node.
func (call *commitCall) readStatus(ctx context.Context, c eventstore.Change) (int64, string, eventstore.Token, error) {
	var status layout.Common
	var v any = &status
	if c.Setting != nil {
		v = &status.Version
	}
	stat, err := call.reader.conn.GetJSON(ctx, call.reader.root.Status(c), v)
	if errors.Is(err, zk.ErrNoNode) {
		return 0, "", 0, nil
	}
	if err != nil {
		return 0, "", 0, err
	}
	return status.Version, status.Command, eventstore.Token(stat.Version), nil
}

// applied returns the results of changes that an earlier try has written. The job was
// handed over if this worker holds its lock: no other goroutine of this process can
// hold it, because the previous claim is still in the registry.
func (call *commitCall) applied(ctx context.Context) ([]eventstore.Committed, error) {
	call.outbox.relayHints.wakeAll()
	if h := call.handOver; h != nil {
		ours, err := call.claims.holdsLock(ctx, h.Claim)
		if err != nil {
			return nil, &eventstore.Error{Op: "find out who holds", Aggregate: h.Claim.Aggregate, Err: errors.Join(eventstore.ErrUnknown, err)}
		}
		if !ours {
			call.handOver = nil
		}
	}
	return call.results(0), nil
}
