package recovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

const (
	// belowLimit is how many nodes are listed below one that should have none; the
	// others are found once these are removed.
	belowLimit = 200
	// inspectParallel is how many nodes of one aggregate are read at once.
	inspectParallel = 8
)

// Inspector reads the tree as it is, intact or damaged. It implements that part of
// eventstore.Inspector which does not read the outbox.
type Inspector struct {
	conn *session.Conn
	root layout.Root
}

// NewInspector returns the inspector of a tree.
func NewInspector(conn *session.Conn, root layout.Root) *Inspector { return &Inspector{conn, root} }

// Sync implements eventstore.Inspector.
func (x *Inspector) Sync(ctx context.Context) error { return x.conn.Sync(ctx) }

// Below implements eventstore.Inspector.
func (x *Inspector) Below(ctx context.Context, node string, limit int) (all []string, err error) {
	v, err := x.conn.Children(ctx, x.root.At(node))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for _, n := range v.Names {
		if err != nil || len(all) >= limit {
			return all, err
		}
		var more []string
		more, err = x.Below(ctx, node+"/"+n, limit-len(all))
		all = append(all, more...)
	}
	if err == nil && len(all) < limit {
		all = append(all, node)
	}
	return all, err
}

// ExpectedJob implements eventstore.Inspector. If the status cannot be read, the
// configuration shows whether the job has its other nodes.
func (x *Inspector) ExpectedJob(j domain.Job, o eventstore.Observed) eventstore.Nodes {
	_, configuration := o.Nodes[x.root.Name(x.root.Job(j.ID)+"/configuration")]
	compact := !configuration
	var status layout.JobStatus
	if data, there := o.Nodes[x.root.Name(x.root.JobStatus(j.ID))]; there && json.Unmarshal([]byte(data), &status) == nil {
		compact = status.JobParts != nil
	}
	return x.root.Expected(x.root.JobNodes(j, compact))
}

// ExpectedBatch implements eventstore.Inspector.
func (x *Inspector) ExpectedBatch(b domain.Batch) eventstore.Nodes {
	return x.root.Expected(x.root.BatchNodes(b))
}

// ExpectedSetting implements eventstore.Inspector.
func (x *Inspector) ExpectedSetting(s domain.Setting, o eventstore.Observed) eventstore.Nodes {
	nodes := x.root.Expected(x.root.SettingNodes(s))
	at := x.root.Name(x.root.SettingValue(s.Kind, s.Name))
	if data, there := o.Nodes[at]; there && s.Value() != nil {
		if v, newer, err := x.root.ValueOf(s.Kind, s.Name, []byte(data), time.Time{}); err == nil && newer && reflect.DeepEqual(v, s.SettingValue) {
			nodes[at] = data
		}
	}
	return nodes
}

// inspection reads one aggregate.
type inspection struct {
	*Inspector
	mu       sync.Mutex
	observed eventstore.Observed
}

// readStable reads an aggregate again until it did not change during the read: every write
// to an aggregate also writes one of the nodes whose versions are compared.
func (x *Inspector) readStable(ctx context.Context, a domain.Aggregate, read func(context.Context, *inspection) error, stamped ...string) (eventstore.Observed, error) {
	type stamp struct {
		created int64
		version int32
	}
	stamps := func() (all [2]stamp, err error) {
		for i, path := range stamped {
			stat, err := x.conn.Exists(ctx, path)
			if err != nil {
				return all, err
			}
			if stat != nil {
				all[i] = stamp{stat.Czxid, stat.Version}
			}
		}
		return all, nil
	}
	for {
		before, err := stamps()
		if err != nil {
			return eventstore.Observed{}, err
		}
		in := &inspection{Inspector: x, observed: eventstore.Observed{Aggregate: a, Nodes: eventstore.Nodes{}, Token: eventstore.Token(before[0].version)}}
		if err := read(ctx, in); err != nil {
			return in.observed, err
		}
		after, err := stamps()
		if err != nil || before == after || ctx.Err() != nil {
			return in.observed, cmp.Or(err, ctx.Err())
		}
	}
}

// decode reads the data of an observed node into v and reports whether it could.
func (in *inspection) decode(path string, v any) bool {
	return json.Unmarshal([]byte(in.observed.Nodes[in.root.Name(path)]), v) == nil
}

// InspectJob implements eventstore.Inspector.
func (x *Inspector) InspectJob(ctx context.Context, id domain.JobID, also ...string) (eventstore.Observed, error) {
	return x.readStable(ctx, id.Aggregate(), func(ctx context.Context, in *inspection) error {
		dir := x.root.Job(id)
		if err := in.readDirectory(ctx, dir); err != nil {
			return err
		}
		nodes := in.observed.Nodes
		j := domain.Job{ID: id}
		var status layout.JobStatus
		if in.decode(dir+"/status", &status) {
			in.observed.Version = status.Version
			status.Apply(&j)
		}
		if claims := x.root.Name(x.root.Claims(id)); nodes[claims] != "" {
			var count layout.ClaimCount
			if in.decode(dir+"/claims", &count) && count.Version == status.Version {
				in.observed.Claims = count.Claims
			}
			nodes[claims] = ""
		}
		in.decode(dir+"/identifiers", &j.Identifiers)
		j.Identifiers.ObjectKeys = slices.DeleteFunc(j.Identifiers.ObjectKeys, func(k domain.ObjectKey) bool { // they name its object entries
			_, ok := domain.ParseObjectKey(string(k))
			return !ok
		})
		if status.Compact() || in.decode(dir+"/priority", &j.Priority) && in.decode(dir+"/configuration", &j.Configuration) {
			for node := range x.ExpectedJob(j, in.observed) {
				if _, known := nodes[node]; !known {
					also = append(also, node)
				}
			}
		}
		return in.readNodes(ctx, also)
	}, x.root.JobStatus(id))
}

// InspectBatch implements eventstore.Inspector.
func (x *Inspector) InspectBatch(ctx context.Context, id domain.BatchID, also ...string) (eventstore.Observed, error) {
	return x.readStable(ctx, id.Aggregate(), func(ctx context.Context, in *inspection) error {
		if err := in.readDirectory(ctx, x.root.Batch(id)); err != nil {
			return err
		}
		if _, there := in.observed.Nodes[x.root.Name(x.root.States(id))]; there {
			if err := in.readDirectory(ctx, x.root.States(id)); err != nil {
				return err
			}
		}
		var status layout.BatchStatus
		if in.decode(x.root.BatchStatus(id), &status) {
			in.observed.Version = status.Version
			b := domain.Batch{ID: id}
			status.Apply(&b)
			in.decode(x.root.Submission(id), &b.Submission)
			if ticket := x.root.TicketNode(eventstore.DepositOfBatch(b)); ticket != "" && !slices.Contains(also, x.root.Name(ticket)) {
				also = append(slices.Clip(also), x.root.Name(ticket))
			}
		}
		var progress layout.Progress
		if in.decode(x.root.Progress(id), &progress) {
			in.observed.NextRow = progress.NextRow
		}
		return in.readNodes(ctx, also)
	}, x.root.BatchStatus(id), x.root.Progress(id))
}

// InspectSetting implements eventstore.Inspector.
func (x *Inspector) InspectSetting(ctx context.Context, a domain.Aggregate) (eventstore.Observed, error) {
	kind, name, _ := strings.Cut(a.ID, ":")
	version := x.root.SettingVersion(a)
	return x.readStable(ctx, a, func(ctx context.Context, in *inspection) error {
		also := []string{x.root.Name(version)}
		if value := x.root.SettingValue(domain.SettingKind(kind), name); value != "" {
			also = append(also, x.root.Name(value))
		}
		if err := in.readNodes(ctx, also); err != nil {
			return err
		}
		in.observed.Version, _ = strconv.ParseInt(in.observed.Nodes[x.root.Name(version)], 10, 64)
		return nil
	}, version)
}

// readDirectory reads a node and its children; it skips a node that does not exist.
func (in *inspection) readDirectory(ctx context.Context, dir string) error {
	v, err := in.conn.Children(ctx, dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	in.observed.Dir = true
	nodes := []string{in.root.Name(dir)}
	for _, n := range v.Names {
		if n == "lock" {
			if err := in.readLock(ctx, dir+"/lock"); err != nil {
				return err
			}
			continue
		}
		nodes = append(nodes, in.root.Name(dir)+"/"+n)
	}
	return in.readNodes(ctx, nodes)
}

// readNodes reads further nodes, some of which may not exist, and all nodes below those that
// should have none.
func (in *inspection) readNodes(ctx context.Context, nodes []string) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(inspectParallel)
	for _, node := range nodes {
		g.Go(func() error {
			n, err := in.conn.Get(gctx, in.root.At(node))
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			if err != nil {
				return err
			}
			in.mu.Lock()
			in.observed.Nodes[node] = string(n.Data)
			in.mu.Unlock()
			if n.Stat.NumChildren == 0 || in.listed(in.root.At(node)) {
				return nil
			}
			return in.addBelow(gctx, node)
		})
	}
	return g.Wait()
}

// listed reports whether the nodes below a node of the aggregate are read by their own
// names.
func (in *inspection) listed(path string) bool {
	id := in.observed.Aggregate.ID
	switch in.observed.Aggregate.Kind {
	case domain.KindJob:
		return path == in.root.Job(domain.JobID(id))
	case domain.KindQuery:
		return path == in.root.Query(domain.QueryID(id))
	case domain.KindBatch:
		id := domain.BatchID(id)
		return path == in.root.Batch(id) || path == in.root.States(id) ||
			slices.ContainsFunc(domain.Subs, func(sub domain.Sub) bool { return path == in.root.Sub(id, sub) })
	}
	return false
}

// addBelow adds the nodes below a node, without data. If there are more than belowLimit
// the node itself is left out, because it can only be deleted after them.
func (in *inspection) addBelow(ctx context.Context, node string) error {
	all, err := in.Below(ctx, node, belowLimit)
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, n := range all {
		if n != node {
			in.observed.Nodes[n] = ""
		}
	}
	if len(all) == belowLimit {
		delete(in.observed.Nodes, node)
	}
	return err
}

// readLock reads a lock, then whether its holder is alive, then checks that the lock is
// still the same: both nodes disappear together when a session ends.
func (in *inspection) readLock(ctx context.Context, path string) error {
	n, err := in.conn.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	var h layout.Holder
	l := &eventstore.ObservedLock{Node: in.root.Name(path), Created: n.Stat.Czxid, Since: time.UnixMilli(n.Stat.Ctime).UTC(), Version: n.Stat.Version}
	if json.Unmarshal(n.Data, &h) == nil {
		l.Holder = h.Holder
	}
	var lease layout.Lease
	if in.observed.Aggregate.Kind == domain.KindEntry && n.Stat.EphemeralOwner == 0 && json.Unmarshal(n.Data, &lease) == nil && lease.SHA256 != "" {
		l.Holder, l.Lease, l.Alive = lease.Worker, true, true
	}
	if l.Holder != "" && !l.Lease && !strings.Contains(l.Holder, "/") {
		stat, err := in.conn.Exists(ctx, in.root.Worker(l.Holder))
		if err != nil {
			return err
		}
		l.Alive = stat != nil && n.Stat.EphemeralOwner != 0 && stat.EphemeralOwner == n.Stat.EphemeralOwner
	}
	again, err := in.conn.Exists(ctx, path)
	if err == nil && again != nil && again.Czxid == l.Created {
		in.observed.Lock = l
	}
	return err
}

// SeizeLock implements eventstore.Inspector. A lock that was never written to has
// version 0, as every new one has; once written to, it differs from those.
func (x *Inspector) SeizeLock(ctx context.Context, observed *eventstore.Observed) error {
	l := observed.Lock
	refused := &eventstore.Error{Op: "break the lock of", Aggregate: observed.Aggregate, Err: eventstore.ErrLocked}
	if l == nil || l.Alive {
		return refused
	}
	stat, err := x.conn.Set(ctx, "zklive/repair/seize-lock", x.root.At(l.Node), layout.Encode(layout.Holder{Holder: l.Holder}), l.Version)
	if err != nil && !session.Answered(err) {
		return err
	}
	if err != nil || stat.Czxid != l.Created {
		return refused
	}
	l.Version = stat.Version
	return nil
}
