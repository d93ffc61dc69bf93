package zklive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/statuses"
	"github.com/accession-ingest/accession/internal/crash"
)

// remover removes the nodes of deleted batches, in bounded steps. Nothing but it and
// Commit changes batches and jobs.
type remover struct {
	conn       *session.Conn
	reader     *reader
	jobs       *jobQueues
	batches    *batchIndex
	statuses   *statuses.Cache
	unreadable *unreadable
	log        *slog.Logger
}

// Remove implements eventstore.Catalog.
func (x *remover) Remove(ctx context.Context, id domain.BatchID) error {
	at, err := x.reader.Batch(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	refuse := func(hint string, args ...any) error {
		return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: eventstore.ErrConflict, Hint: fmt.Sprintf(hint, args...)}
	}
	if at.State.State != domain.BatchDeleted {
		return refuse("it is %s, not deleted", at.State.State)
	}
	for _, sub := range domain.Subs {
		jobs, err := x.reader.BatchJobs(ctx, id, sub)
		if err != nil {
			return err
		}
		if len(jobs) > 0 && !at.State.Cleaned() {
			return refuse("%d of its jobs are not deleted yet", len(jobs))
		}
		for _, j := range jobs {
			if err := x.removeJob(ctx, j, x.reader.root.Ref(id, sub, j)); err != nil {
				return &eventstore.Error{Op: "remove", Aggregate: j.Aggregate(), Err: err}
			}
		}
	}
	if err := x.removeBatch(ctx, id); err != nil {
		return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: err}
	}
	x.batches.forget(id)
	x.statuses.Forget(id)
	return nil
}

// removeBatch removes a batch. The nodes without which it cannot be read are removed last and
// together, so that an interrupted removal is found again.
func (x *remover) removeBatch(ctx context.Context, id domain.BatchID) error {
	dir := x.reader.root.Batch(id)
	for _, name := range []string{"/states", "/progress", "/status-report", "/lock"} {
		if err := x.conn.Destroy(ctx, dir+name); err != nil {
			return err
		}
		crash.Point("zklive/remove/after-part")
	}
	_, err := x.conn.Multi(ctx, "zklive/remove/batch", x.reader.root.RemoveBatch(id))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// removeJob removes a job of a cleaned batch, in one multi.
func (x *remover) removeJob(ctx context.Context, id domain.JobID, ref string) error {
	root := x.reader.root
	at, compact, err := x.reader.job(ctx, id)
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		return x.destroy(ctx, ref)
	case errors.Is(err, eventstore.ErrBroken):
		return x.removeUnreadable(ctx, id, ref)
	case err != nil:
		return err
	}
	_, err = x.conn.Multi(ctx, "zklive/remove/job", root.RemoveJob(at.State, compact))
	if errors.Is(err, zk.ErrNoNode) {
		// Either the job is removed already, by a multi whose answer was lost or by
		// another process; or one of its nodes was missing, and the others are removed
		// one by one, the reference last.
		if _, err = x.reader.Job(ctx, id); err == nil || errors.Is(err, eventstore.ErrNotFound) {
			err = x.destroy(ctx, root.QueueEntry(at.State), root.Job(id), ref)
		}
	}
	if err != nil {
		return err
	}
	x.jobs.update(domain.JobMove{From: at.State.State, To: domain.JobDeleted, Priority: at.State.Priority}, id, "", at.State.Version, 0, false, false)
	x.jobs.forget(id)
	return nil
}

// removeUnreadable removes a job of a cleaned batch that cannot be read: all nodes with its id,
// the reference last, so that an interrupted removal is found again.
func (x *remover) removeUnreadable(ctx context.Context, id domain.JobID, ref string) error {
	root := x.reader.root
	nodes := []string{root.Promise(id), root.Job(id), ref}
	for _, state := range domain.JobStates {
		names, err := x.conn.List(ctx, root.Queue(state))
		if err != nil {
			return err
		}
		for _, n := range names {
			if _, of, bad := domain.ParseEntryName(n); bad == nil && of == id {
				nodes = append([]string{root.Queue(state) + "/" + n}, nodes...)
			}
		}
	}
	if err := x.destroy(ctx, nodes...); err != nil {
		return err
	}
	x.log.Warn("a job that could not be read was removed with its batch", "job", id, "ref", ref)
	x.jobs.forget(id)
	x.unreadable.set(id.Aggregate(), false)
	return nil
}

// destroy removes nodes with all nodes below them; it skips "".
func (x *remover) destroy(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := x.conn.Destroy(ctx, path); err != nil {
			return err
		}
	}
	return nil
}
