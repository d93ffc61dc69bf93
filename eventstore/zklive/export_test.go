package zklive

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// Holding reports whether this process has, or is about to have or to release, a claim
// of the aggregate.
func (s *Store) Holding(a domain.Aggregate) bool { return s.claims.has(a) }

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
