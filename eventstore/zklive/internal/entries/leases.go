package entries

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// LoadLease implements eventstore.Leases.
func (x *Entries) LoadLease(ctx context.Context, id compute.ID) (eventstore.Lease, error) {
	l, _, err := x.lease(ctx, x.root.Lock(id.Aggregate()))
	if err != nil {
		return l, &eventstore.Error{Op: "load the lease", Aggregate: id.Aggregate(), Err: err}
	}
	return l, nil
}

// lease reads a lease, and when it was last renewed. ErrNotFound: it is none, or the claim of
// a worker with a session.
func (x *Entries) lease(ctx context.Context, node string) (l eventstore.Lease, renewed int64, err error) {
	var data layout.Lease
	stat, err := x.session.GetJSON(ctx, node, &data)
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && (stat.EphemeralOwner != 0 || data.SHA256 == ""):
		return l, 0, eventstore.ErrNotFound
	case err != nil:
		return l, 0, err
	}
	l = eventstore.Lease{Worker: data.Worker, SHA256: data.SHA256, Timeout: time.Duration(data.Seconds * float64(time.Second)), Progress: data.Said, Command: data.Command, Salt: data.Salt, Version: int64(stat.Version), Renewed: time.UnixMilli(stat.Mtime)}
	return l, stat.Mtime, nil
}

// LeaseOfCommand implements eventstore.Leases. The lease is read after the note: both are written
// at once, so a note of which that is not the lease is of one that has ended.
func (x *Entries) LeaseOfCommand(ctx context.Context, command string) (compute.ID, eventstore.Lease, error) {
	none := eventstore.Lease{Before: -1}
	note, err := x.session.Find(ctx, x.root.EntryCommand(command))
	if err == nil && note != nil {
		none.Before = int64(note.Stat.Version)
		if id, broken := compute.ParseID("eid" + string(note.Data)); broken == nil {
			l, _, lerr := x.lease(ctx, x.root.Lock(id.Aggregate()))
			if lerr == nil && l.Command == command {
				l.Before = none.Before
				return id, l, nil
			}
			if !errors.Is(lerr, eventstore.ErrNotFound) && !errors.Is(lerr, eventstore.ErrBroken) {
				err = lerr
			}
		}
	}
	if err == nil {
		err = eventstore.ErrNotFound
	}
	return "", none, &eventstore.Error{Op: "find the lease that was taken before", Err: err}
}

// RenewLease implements eventstore.Leases.
func (x *Entries) RenewLease(ctx context.Context, id compute.ID, l eventstore.Lease) error {
	_, err := x.session.Set(ctx, "zklive/entry/renew", x.root.Lock(id.Aggregate()), layout.LeaseData(l), int32(l.Version))
	if session.Answered(err) {
		err = eventstore.ErrConflict
	}
	if err != nil {
		return &eventstore.Error{Op: "renew the lease", Aggregate: id.Aggregate(), Err: err}
	}
	return nil
}

// EndOverdueLeases implements eventstore.Leases. The time of the server is that of a write to
// the directory of claims. The notes of claims are listed first: one without a lease then is of a
// lease that has ended.
func (x *Entries) EndOverdueLeases(ctx context.Context) (ended []compute.ID, err error) {
	defer func() {
		if err != nil {
			err = &eventstore.Error{Op: "look for overdue leases", Err: err}
		}
	}()
	notes, err := x.session.List(ctx, x.root.EntryCommands())
	if err != nil {
		return nil, err
	}
	lasting, ended, err := x.endOverdue(ctx)
	for _, command := range notes {
		if err == nil && !lasting[command] {
			err = x.forget(ctx, command)
		}
	}
	return ended, err
}

// forget removes the note of a claim whose lease has ended, unless it was sent again meanwhile.
func (x *Entries) forget(ctx context.Context, command string) error {
	_, l, err := x.LeaseOfCommand(ctx, command)
	if !errors.Is(err, eventstore.ErrNotFound) || l.Before < 0 {
		return err
	}
	var ops layout.Ops
	ops.Delete(x.root.EntryCommand(command), int32(l.Before), eventstore.ErrConflict)
	if _, err = x.session.Multi(ctx, "zklive/entry/forget", ops); session.Answered(err) {
		err = nil
	}
	return err
}

// endOverdue ends the overdue leases, and returns the claims that took the others.
func (x *Entries) endOverdue(ctx context.Context) (lasting map[string]bool, ended []compute.ID, err error) {
	owned, err := x.session.List(ctx, x.root.EntryClaims())
	if err != nil || len(owned) == 0 {
		return nil, nil, err
	}
	lasting = make(map[string]bool, len(owned))
	clock, err := x.session.Set(ctx, "zklive/entry/clock", x.root.EntryClaims(), nil, layout.Any)
	if err != nil {
		return nil, nil, err
	}
	for _, sequence := range owned {
		id, err := compute.ParseID("eid" + sequence)
		if err != nil {
			continue // verify finds it
		}
		node := x.root.Lock(id.Aggregate())
		l, renewed, err := x.lease(ctx, node)
		if errors.Is(err, eventstore.ErrNotFound) || errors.Is(err, eventstore.ErrBroken) {
			continue // verify finds one that is no lease
		}
		if err != nil {
			return nil, ended, err
		}
		if time.Duration(clock.Mtime-renewed)*time.Millisecond <= l.Timeout {
			lasting[l.Command] = true
			continue
		}
		var ops layout.Ops
		ops.Delete(node, int32(l.Version), eventstore.ErrConflict)
		switch _, err := x.session.Multi(ctx, "zklive/entry/overdue", ops); {
		case err == nil:
			ended = append(ended, id)
		case !session.Answered(err): // else it was renewed, or has ended
			return nil, ended, err
		}
	}
	return lasting, ended, nil
}
