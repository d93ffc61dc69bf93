package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// Restorer restores a tree, and keeps other processes out meanwhile. It implements that
// part of eventstore.Restorer which does not read the outbox.
type Restorer struct {
	*Epoch
	session *session.Session
	root    layout.Root
	allowed bool // to use a tree that is being restored
	// guarding is the node by which this restore keeps other processes out, "" = none.
	guarding string
}

// NewRestorer returns the restorer of a tree; allowed says that it may be used while it
// is being restored.
func NewRestorer(s *session.Session, root layout.Root, allowed bool) *Restorer {
	return &Restorer{Epoch: NewEpoch(s.Conn, root), session: s, root: root, allowed: allowed}
}

// Usable returns an error if the tree is being restored by another process.
func (r *Restorer) Usable(ctx context.Context) error {
	if r.allowed {
		return nil
	}
	for path, hint := range map[string]string{
		r.root.Restoring():    "it is being restored, or a restore was interrupted: `accession restore zookeeper` begins it again",
		r.root.RestoringLog(): "the log is being restored, or that was interrupted: `accession restore log` goes on with it",
	} {
		stat, err := r.session.Exists(ctx, path)
		if err != nil {
			return err
		}
		if stat != nil {
			return &eventstore.Error{Op: "open the tree", Err: eventstore.ErrRestoring, Hint: hint}
		}
	}
	return nil
}

// Format returns the format of the tree.
func (r *Restorer) Format(ctx context.Context) (f eventstore.Format, err error) {
	_, err = r.session.GetJSON(ctx, r.root.Format(), &f)
	return f, err
}

// Untouched implements eventstore.Restorer.
func (r *Restorer) Untouched(ctx context.Context) (bool, error) {
	for _, path := range []string{r.root.IDs("query"), r.root.IDs("entry"), r.root.Epoch(), r.root.IDs("jid"), r.root.IDs("bid")} {
		var n int64
		_, err := r.session.GetJSON(ctx, path, &n)
		switch {
		case errors.Is(err, zk.ErrNoNode) && (path == r.root.IDs("query") || path == r.root.IDs("entry")):
			continue // older trees do not have it
		case errors.Is(err, zk.ErrNoNode):
			return true, nil
		}
		if err != nil || n > 1 && path != r.root.Epoch() {
			return false, err
		}
	}
	versions, err := r.session.List(ctx, r.root.Versions())
	return len(versions) == 0 && err == nil, err
}

// Exclude implements eventstore.Restorer. A process that was opening the tree checks
// again after it is registered.
func (r *Restorer) Exclude(ctx context.Context) error {
	restoring, err := r.session.Exists(ctx, r.root.Restoring())
	if err != nil {
		return err
	}
	if restoring != nil {
		return refuse("the tree below %s/ is being restored, or that was interrupted: `accession restore zookeeper` begins it again, and comes first", r.root)
	}
	made, err := r.guard(ctx, r.root.RestoringLog())
	if err != nil {
		return err
	}
	if err = r.checkAlone(ctx); err != nil && made {
		r.guarding = r.root.RestoringLog()
		return errors.Join(err, r.Restored(ctx))
	}
	if err == nil { // made, or left by one that was interrupted
		r.guarding = r.root.RestoringLog()
	}
	return err
}

// guard makes a node that keeps other processes out, and reports whether this call made
// it, also if an answer was lost.
func (r *Restorer) guard(ctx context.Context, path string) (made bool, err error) {
	mark := layout.Encode(uuid.NewString())
	if err := r.session.Ensure(ctx, path, mark); err != nil {
		return false, err
	}
	n, err := r.session.Get(ctx, path)
	return err == nil && bytes.Equal(n.Data, mark), err
}

// Restore implements eventstore.Restorer.
func (r *Restorer) Restore(ctx context.Context, h eventstore.History, progress func(done, total int)) error {
	if h.Replaces {
		// From here on the tree counts as one whose restore was interrupted.
		if err := r.awaitAlone(ctx); err != nil {
			return err
		}
		if _, err := r.guard(ctx, r.root.Restoring()); err != nil {
			return err
		}
	}
	if err := r.clear(ctx); err != nil {
		return err
	}
	if _, err := r.guard(ctx, r.root.Restoring()); err != nil {
		return err
	}
	r.guarding = r.root.Restoring() // made, or left by one that was interrupted
	for path, n := range map[string]int64{r.root.Epoch(): h.Epoch + 1, r.root.IDs("bid"): h.NextBatch, r.root.IDs("jid"): h.NextJob, r.root.IDs("query"): max(h.NextQuery, 1), r.root.IDs("entry"): max(h.NextEntry, 1), r.root.HighWater(): h.HighWater} {
		if _, err := r.session.Set(ctx, "zklive/restore/number", path, layout.Encode(n), layout.Any); err != nil {
			return &eventstore.Error{Op: "restore " + r.root.Name(path), Err: err}
		}
	}
	r.known.Store(0)
	if err := r.RaiseMarks(ctx, h.LogSeq, h.LogEvent); err != nil {
		return err
	}
	format, err := r.Format(ctx)
	if err != nil {
		return err
	}
	w := writer{conn: r.session.Conn, progress: progress, total: len(h.Batches) + len(h.Jobs) + len(h.Settings) + len(h.Queries) + len(h.Entries)}
	for _, s := range h.Settings {
		if err := w.add(ctx, r.root.SettingNodes(s)); err != nil {
			return err
		}
	}
	for _, queue := range layout.RingQueues {
		if err := r.restoreRing(ctx, &w, queue, h); err != nil {
			return err
		}
	}
	for _, b := range h.Batches {
		if err := w.add(ctx, r.root.BatchNodes(b)); err != nil {
			return err
		}
	}
	for _, q := range h.Queries {
		if err := w.add(ctx, r.root.QueryNodes(q)); err != nil {
			return err
		}
	}
	for _, e := range h.Entries {
		if err := w.add(ctx, r.root.EntryNodes(e)); err != nil {
			return err
		}
	}
	for _, j := range h.Jobs {
		if err := w.add(ctx, r.root.JobNodes(j, format.Compact())); err != nil {
			return err
		}
	}
	return w.flush(ctx)
}

// restoreRing writes the nodes that the batches of a deposit queue share.
func (r *Restorer) restoreRing(ctx context.Context, w *writer, queue string, h eventstore.History) error {
	at := h.Rings[queue]
	at.Recent = nil // every process reads it anew
	nodes := r.root.RingNodes(queue, h.Deposits(), at)
	if _, err := r.session.Set(ctx, "zklive/restore/ring", nodes[0].Path, nodes[0].Data(), layout.Any); err != nil {
		return &eventstore.Error{Op: "restore " + r.root.Name(nodes[0].Path), Err: err}
	}
	for _, n := range nodes[1:] {
		w.req.Ops.CreateNodes([]layout.Node{n})
		if w.req.HalfFull() {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// RaiseMarks implements eventstore.Restorer.
func (r *Restorer) RaiseMarks(ctx context.Context, seq uint64, event string) error {
	shards, err := r.session.List(ctx, r.root.Outbox())
	for _, name := range shards {
		path := r.root.Outbox() + "/" + name + "/mark"
		var m eventstore.Mark
		if _, err := r.session.GetJSON(ctx, path, &m); err != nil {
			return &eventstore.Error{Op: "read the outbox's mark", Err: err}
		}
		m.LogSeq, m.Event = seq, event
		if _, err := r.session.Set(ctx, "zklive/restore/mark", path, layout.Encode(m), layout.Any); err != nil {
			return &eventstore.Error{Op: "mark the outbox", Err: err}
		}
	}
	return err
}

// Restored implements eventstore.Restorer.
func (r *Restorer) Restored(ctx context.Context) error {
	if r.guarding == "" {
		return nil
	}
	if err := r.session.Remove(ctx, "zklive/restore/end", r.guarding); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	r.guarding = ""
	return nil
}

// writer makes nodes, many in each multi.
type writer struct {
	conn        *session.Conn
	req         session.Request
	added       int // aggregates, since the last multi
	done, total int
	progress    func(done, total int)
}

func (w *writer) add(ctx context.Context, nodes []layout.Node) error {
	w.req.Ops.CreateNodes(nodes)
	w.added++
	if w.req.HalfFull() {
		return w.flush(ctx)
	}
	return nil
}

// flush sends the collected nodes. No other process writes, so that after a lost answer
// the last node shows whether all of them exist.
func (w *writer) flush(ctx context.Context) error {
	if ops := w.req.Ops; len(ops) > 0 {
		lost := false
		_, err := session.Retry(ctx, func() (none struct{}, err error) {
			_, err = w.conn.TryMulti(ctx, "zklive/restore/part", ops)
			if lost && errors.Is(err, zk.ErrNodeExists) {
				if stat, existsErr := w.conn.Exists(ctx, ops[len(ops)-1].Path); existsErr == nil && stat != nil {
					return none, nil
				}
			}
			lost = lost || err != nil && !session.Answered(err)
			return none, err
		})
		if err != nil {
			return &eventstore.Error{Op: "restore the tree", Err: err}
		}
	}
	w.done += w.added
	w.req, w.added = session.Request{}, 0
	if w.progress != nil {
		w.progress(w.done, w.total)
	}
	return nil
}

// clear returns an error if the tree is not empty or another process uses it. It
// removes what an interrupted restore has left.
func (r *Restorer) clear(ctx context.Context) error {
	if err := r.checkAlone(ctx); err != nil {
		return err
	}
	restoring, err := r.session.Exists(ctx, r.root.Restoring())
	if err != nil {
		return err
	}
	restoringLog, err := r.session.Exists(ctx, r.root.RestoringLog())
	if err != nil {
		return err
	}
	if restoring == nil && restoringLog != nil {
		return refuse("the log is being restored, or that was interrupted: `accession restore log` goes on with it, and comes first")
	}
	contents, err := r.contents(ctx)
	if err != nil || len(contents) == 0 {
		return err
	}
	if restoring == nil {
		return refuse("the tree below %s/ is not empty: it holds %s; name an empty one with the setting zookeeper_root, or check first whether it is lost at all: `accession verify`", r.root, r.root.Name(contents[0]))
	}
	for _, node := range contents {
		if err := r.session.Destroy(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the refusal of a restore.
func refuse(why string, args ...any) error {
	return &domain.Refused{Code: domain.CodeNotRestorable, State: "there", Message: fmt.Sprintf(why, args...)}
}

// checkAlone returns an error if another process is registered.
func (r *Restorer) checkAlone(ctx context.Context) error {
	workers, err := r.session.Children(ctx, r.root.Workers())
	if err != nil {
		return err
	}
	for _, w := range workers.Names {
		if w != r.session.WorkerID() {
			return refuse("another process uses the tree below %s/: stop every `accession serve` first", r.root)
		}
	}
	return nil
}

// awaitAlone waits until the sessions have ended that an older copy still has.
func (r *Restorer) awaitAlone(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * r.session.Timeout()); ; {
		err := r.checkAlone(ctx)
		if err == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// contents lists what a tree holds besides the directories that every tree has.
func (r *Restorer) contents(ctx context.Context) ([]string, error) {
	dirs := []string{r.root.Batches(), r.root.Queries(), r.root.Jobs(), r.root.Space(), r.root.Holds(domain.HoldCollection), r.root.Holds(domain.HoldQueue), r.root.Versions(),
		r.root.Directory(domain.SettingProfile), r.root.Directory(domain.SettingDataset), r.root.Directory(domain.SettingDiscovery)}
	for _, state := range domain.JobStates {
		dirs = append(dirs, r.root.Queue(state))
	}
	for _, queue := range layout.RingQueues {
		dirs = append(dirs, r.root.RingUsers(queue), r.root.RingNames(queue), r.root.AllRunning(queue), r.root.Pools(queue))
	}
	dirs = append(append(dirs, r.root.ObjectDirs()...), r.root.EntryDirs()...)
	shards, err := r.session.List(ctx, r.root.Outbox())
	if err != nil {
		return nil, err
	}
	for _, shard := range shards {
		names, err := r.session.List(ctx, r.root.Outbox()+"/"+shard)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if _, bucket := layout.ParseBucket(n); bucket {
				dirs = append(dirs, r.root.Outbox()+"/"+shard+"/"+n)
			}
		}
	}
	var all []string
	for _, queue := range domain.DepositQueues {
		nodes, below := r.root.QueueSettings(queue)
		dirs = append(dirs, below...)
		for _, node := range nodes {
			stat, err := r.session.Exists(ctx, node)
			if err != nil {
				return nil, err
			}
			if stat != nil {
				all = append(all, node)
			}
		}
	}
	for _, dir := range dirs {
		names, err := r.session.List(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if path := dir + "/" + n; path != r.root.JobStates() {
				all = append(all, path)
			}
		}
	}
	return all, nil
}
