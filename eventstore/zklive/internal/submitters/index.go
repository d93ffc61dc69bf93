// Package submitters remembers who submitted which batch and job.
package submitters

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// Index knows who submitted which batch, and so which jobs: those of a batch have
// consecutive ids. With it submitters are served in turn without reading each job.
type Index struct {
	conn   *session.Conn
	root   layout.Root
	mu     sync.Mutex
	of     map[domain.BatchID]string
	ranges []jobRange                        // sorted
	asked  map[domain.BatchID][]func(string) // to be called when the batch was read
}

// jobRange are the jobs of one batch.
type jobRange struct {
	first, last domain.JobID
	submitter   string
}

const (
	limit        = 200_000 // bounds what is remembered; emptying it costs two reads a batch
	scanParallel = 32      // jobs that are read at once
)

// New returns an index that knows nothing yet.
func New(conn *session.Conn, root layout.Root) *Index {
	return &Index{conn: conn, root: root, of: map[domain.BatchID]string{}, asked: map[domain.BatchID][]func(string){}}
}

// Note takes what is known of a batch, listing nil = its jobs are not known.
func (s *Index) Note(id domain.BatchID, submitter string, listing *domain.Listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of) >= limit || len(s.ranges) >= limit {
		clear(s.of)
		s.ranges = nil
	}
	s.of[id] = submitter
	if listing == nil || listing.Rows <= 0 {
		return
	}
	n, found := s.find(listing.FirstJID)
	if !found {
		s.ranges = slices.Insert(s.ranges, n, jobRange{listing.FirstJID, listing.FirstJID.Plus(listing.Rows - 1), submitter})
	}
}

// find returns the index of the range that begins with a job.
func (s *Index) find(first domain.JobID) (int, bool) {
	return slices.BinarySearchFunc(s.ranges, first, func(r jobRange, id domain.JobID) int { return cmp.Compare(r.first, id) })
}

// Observe takes an event of a batch.
func (s *Index) Observe(r domain.Recorded) {
	id := domain.BatchID(r.Aggregate.ID)
	switch d := r.Data.(type) {
	case *domain.BatchSubmitted:
		s.Note(id, d.Submission.Submitter, nil)
	case *domain.BatchListed:
		if submitter, known := s.ofBatch(id); known {
			s.Note(id, submitter, &d.Listing)
		}
	}
}

func (s *Index) ofBatch(id domain.BatchID) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	submitter, known := s.of[id]
	return submitter, known
}

// OfJob returns the submitter of a job, if it is known.
func (s *Index) OfJob(id domain.JobID) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, found := s.find(id)
	if !found {
		n--
	}
	if n < 0 || s.ranges[n].last < id {
		return "", false
	}
	return s.ranges[n].submitter, true
}

// ReadBatch returns the submitter of a batch, "" if it cannot be read.
func (s *Index) ReadBatch(ctx context.Context, id domain.BatchID) string {
	submitter, known := s.ofBatch(id)
	if known {
		return submitter
	}
	var sub domain.Submission
	if _, err := s.conn.GetJSON(ctx, s.root.Submission(id), &sub); err == nil {
		s.Note(id, sub.Submitter, nil)
	}
	return sub.Submitter
}

// Read finds out the submitters of jobs, with two reads for each batch of which nothing
// is known yet. Those of jobs that cannot be read stay unknown.
func (s *Index) Read(ctx context.Context, jobs []domain.JobID) {
	var g errgroup.Group
	g.SetLimit(scanParallel)
	for _, id := range jobs {
		if _, known := s.OfJob(id); known {
			continue
		}
		g.Go(func() error {
			if _, known := s.OfJob(id); known {
				return nil // read with another job of its batch
			}
			s.readJob(ctx, id)
			return nil
		})
	}
	_ = g.Wait() // no error is returned
}

// readJob notes the submitter of a job with its batch, if they can be read.
func (s *Index) readJob(ctx context.Context, id domain.JobID) {
	var c domain.Configuration
	if _, err := s.conn.GetJSON(ctx, s.root.Job(id)+"/configuration", &c); err != nil {
		return
	}
	var progress layout.Progress
	if _, err := s.conn.GetJSON(ctx, s.root.Progress(c.BatchID), &progress); err == nil || errors.Is(err, zk.ErrNoNode) {
		s.Note(c.BatchID, c.Submitter, &progress.Listing)
	}
}

// With calls f with the submitter of a batch: now if it is known, else when the batch
// was read.
func (s *Index) With(id domain.BatchID, f func(submitter string)) {
	s.mu.Lock()
	submitter, known := s.of[id]
	others, asked := s.asked[id]
	if !known {
		s.asked[id] = append(others, f)
	}
	s.mu.Unlock()
	if known {
		f(submitter)
		return
	}
	if asked {
		return
	}
	s.conn.Spawn(func() {
		submitter := s.ReadBatch(s.conn.Context(), id)
		s.mu.Lock()
		waiting := s.asked[id]
		delete(s.asked, id)
		s.mu.Unlock()
		for _, f := range waiting {
			f(submitter)
		}
	})
}
