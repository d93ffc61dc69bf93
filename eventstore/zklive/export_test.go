package zklive

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// Holding reports whether this process has, or is about to have or to release, a claim
// of the aggregate.
func (s *Store) Holding(a domain.Aggregate) bool { return s.claims.has(a) }

// KeepClaim keeps a claim of an aggregate as that of a grab whose answer was lost, until the
// function that it returns is called.
func (s *Store) KeepClaim(a domain.Aggregate) (end func()) {
	c := &eventstore.Claim{ID: uuid.NewString(), Aggregate: a}
	s.claims.add(c)
	return func() { s.claims.replace(c, nil) }
}

// SetHolds puts holds into the cache.
func (s *Store) SetHolds(h eventstore.Holds) {
	s.holds.mu.Lock()
	defer s.holds.mu.Unlock()
	s.holds.known = &h
}

// Remembered counts what this process has in memory of jobs and their queues.
func (s *Store) Remembered() int {
	q := s.jobQueues
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.seen) + len(q.recent)
	for _, queue := range q.by {
		queue.index.mu.Lock()
		n += queue.line.Len() + len(queue.aside) + len(queue.at)
		queue.index.mu.Unlock()
	}
	return n
}

// Followed counts the batches that this process has in memory.
func (s *Store) Followed() int {
	s.batchIndex.mu.Lock()
	defer s.batchIndex.mu.Unlock()
	return len(s.batchIndex.known)
}

// FillFinished creates completed batches from a number on, each with so many jobs that
// have left their queue, directly with the nodes that the layout says they have.
func (s *Store) FillFinished(ctx context.Context, first int64, batches, jobs int) error {
	at := domain.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for n := range int64(batches) {
		b := domain.Batch{ID: domain.NewBatchID(first + n), State: domain.BatchCompleted, Version: 5, Modified: at, CommandID: uuid.NewString(),
			Submission: domain.Submission{ProfileName: "maps", Submitter: "a.person@example.org", PayloadURL: "https://files.example.org/deposits/2026/batch.checkm",
				Type: domain.TypeFileBatchManifest, SubmissionMode: "add"},
			Listing: &domain.Listing{Rows: jobs, FirstJID: domain.NewJobID((first + n) * int64(jobs))}, NextRow: jobs, Report: &domain.Report{LastModified: at, Successful: jobs}}
		var nodes []layout.Node
		for row := range jobs {
			j := domain.Job{ID: b.Listing.FirstJID.Plus(row), State: domain.JobCompleted, Cleaned: true, LastSuccessful: domain.JobNotify, Version: 9, Modified: at,
				CommandID: uuid.NewString(), Priority: domain.PriorityDefault, SpaceNeeded: 123_456_789,
				Configuration: domain.Configuration{BatchID: b.ID, ProfileName: "maps", Submitter: b.Submission.Submitter, PayloadURL: fmt.Sprintf("https://files.example.org/deposits/2026/map-%05d.tif", row),
					PayloadType: domain.TypeFile, ResponseType: "json", SubmissionMode: "add", WorkingDir: "work", Row: row, Host: "files.example.org"},
				Identifiers: domain.Identifiers{Primary: "ark:/99999/fk4" + b.CommandID[:8], LocalID: []string{fmt.Sprintf("map-%05d", row)}},
				Metadata:    domain.Metadata{ErcWhat: "A map of the coast", ErcWho: "A Cartographer", ErcWhen: "1874"}}
			b.Report.SuccessfulJobs = append(b.Report.SuccessfulJobs, j.ID)
			nodes = append(nodes, s.root.JobNodes(j, s.reader.compact)...)
		}
		var ops layout.Ops
		ops.CreateNodes(append(s.root.BatchNodes(b), nodes...))
		g.Go(func() error { _, err := s.session.Multi(ctx, "zklive/bench/fill", ops); return err })
	}
	return g.Wait()
}

// FillOutbox creates entries in the first bucket of a shard, and returns the offset of the
// last one.
func (s *Store) FillOutbox(ctx context.Context, shard, entries int) (last eventstore.Offset, err error) {
	var nodes []layout.Node
	for n := range entries {
		last = eventstore.Offset{Bucket: 1, Seq: int64(n)}
		nodes = append(nodes, layout.Node{Path: s.root.OutboxItem(shard, last)})
	}
	for list := range slices.Chunk(nodes, 500) {
		var ops layout.Ops
		ops.CreateNodes(list)
		if _, err := s.session.Multi(ctx, "zklive/bench/fill", ops); err != nil {
			return last, err
		}
	}
	return last, nil
}

// Sent lists the entries in the first bucket of a shard, in order.
func (s *Store) Sent(ctx context.Context, shard int) ([]eventstore.Offset, error) {
	return s.offsets(ctx, shard, 1, eventstore.Offset{Bucket: 1, Seq: -1})
}

// DropHolds makes the cached holds outdated, as a refused claim does.
func (s *Store) DropHolds() { s.holds.outdated() }

// FillWaiting makes batches wait in the queue metadata, each of so many users with as many
// as any other, directly with the nodes that the layout says they have.
func (s *Store) FillWaiting(ctx context.Context, waiting, users int, user func(int) string) error {
	at := domain.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	batches := make([]domain.Batch, waiting)
	for n := range batches {
		of := n % users
		batches[n] = domain.Batch{ID: domain.NewBatchID(int64(n) + 1), State: domain.BatchPending, Version: 1, Modified: at, CommandID: uuid.NewString(),
			Submission: domain.Submission{ProfileName: "maps", Submitter: user(of), PayloadURL: "https://files.example.org/deposits/2026/batch.checkm",
				Type: domain.TypeFileBatchManifest, SubmissionMode: "add"},
			Ticket: &domain.Ticket{Queue: fair.QueueMetadata, User: user(of), Slot: int64(of) + 1}}
	}
	deposits := make([]eventstore.Deposit, len(batches))
	for i, b := range batches {
		deposits[i] = eventstore.DepositOfBatch(b)
	}
	shared := s.root.RingNodes(fair.QueueMetadata, deposits, eventstore.RingState{})
	if err := s.RaiseIDs(ctx, eventstore.Numbers{Batch: int64(waiting) + 1}); err != nil {
		return err
	}
	if _, err := s.session.Set(ctx, "zklive/bench/fill", shared[0].Path, shared[0].Data(), -1); err != nil {
		return err
	}
	create := func(nodes []layout.Node) error {
		var ops layout.Ops
		ops.CreateNodes(nodes)
		_, err := s.session.Multi(ctx, "zklive/bench/fill", ops)
		return err
	}
	for list := range slices.Chunk(shared[1:], 500) {
		if err := create(list); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for list := range slices.Chunk(batches, 50) {
		g.Go(func() error {
			var nodes []layout.Node
			for _, b := range list {
				nodes = append(nodes, s.root.BatchNodes(b)...)
			}
			return create(nodes)
		})
	}
	return g.Wait()
}

// FillEntries makes entries of the compute queue wait, of so many datasets in turn, directly with the
// nodes that the layout says they have.
func (s *Store) FillEntries(ctx context.Context, waiting, datasets int) error {
	at := domain.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	if err := s.RaiseIDs(ctx, eventstore.Numbers{Entry: int64(waiting) + 1}); err != nil {
		return err
	}
	ids := make([]int64, waiting)
	for n := range ids {
		ids[n] = int64(n) + 1
	}
	for part := range slices.Chunk(ids, 500) {
		var ops layout.Ops
		for _, n := range part {
			ops.CreateNodes(s.root.EntryNodes(compute.Entry{ID: compute.NewID(n), Version: 1, State: entry.Pending, Requested: at, Modified: at, CommandID: uuid.NewString(),
				Work:    entry.Work{Dataset: fmt.Sprint("d", n%int64(datasets)), Priority: entry.DefaultPriority, Key: fmt.Sprint(n)},
				Request: entry.Request{Submitter: "ana", Inputs: []string{"https://data.example.org/a"}}}))
		}
		if _, err := s.session.Multi(ctx, "zklive/bench/fill", ops); err != nil {
			return err
		}
	}
	return nil
}

// Above returns the node of the tree.
func (s *Store) Above() string { return s.cfg.Root }

// Beside opens the same tree in a session of its own, closed at the end; at other servers if
// there are any.
func (s *Store) Beside(t testing.TB, servers ...string) *Store {
	t.Helper()
	cfg := s.cfg
	if len(servers) > 0 {
		cfg.Servers = servers
	}
	other, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	return other
}
