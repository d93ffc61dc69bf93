package zklive

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// submitters knows who submitted which batch, and so which jobs: those of a batch have
// consecutive ids. The indexes serve submitters in turn without reading each job.
type submitters struct {
	reader *reader
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

// submittersLimit bounds what is remembered; emptying it costs two reads a batch.
const submittersLimit = 200_000

func newSubmitters(r *reader) *submitters {
	return &submitters{reader: r, of: map[domain.BatchID]string{}, asked: map[domain.BatchID][]func(string){}}
}

// note takes what is known of a batch, listing nil = its jobs are not known.
func (s *submitters) note(id domain.BatchID, submitter string, listing *domain.Listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of) >= submittersLimit || len(s.ranges) >= submittersLimit {
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
func (s *submitters) find(first domain.JobID) (int, bool) {
	return slices.BinarySearchFunc(s.ranges, first, func(r jobRange, id domain.JobID) int { return cmp.Compare(r.first, id) })
}

// observe takes an event of a batch.
func (s *submitters) observe(r domain.Recorded) {
	id := domain.BatchID(r.Aggregate.ID)
	switch d := r.Data.(type) {
	case *domain.BatchSubmitted:
		s.note(id, d.Submission.Submitter, nil)
	case *domain.BatchListed:
		if submitter, known := s.ofBatch(id); known {
			s.note(id, submitter, &d.Listing)
		}
	}
}

func (s *submitters) ofBatch(id domain.BatchID) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	submitter, known := s.of[id]
	return submitter, known
}

func (s *submitters) ofJob(id domain.JobID) (string, bool) {
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

// readBatch returns the submitter of a batch, "" if it cannot be read.
func (s *submitters) readBatch(ctx context.Context, id domain.BatchID) string {
	submitter, known := s.ofBatch(id)
	if known {
		return submitter
	}
	var sub domain.Submission
	if _, err := s.reader.conn.GetJSON(ctx, s.reader.root.Submission(id), &sub); err == nil {
		s.note(id, sub.Submitter, nil)
	}
	return sub.Submitter
}

// read finds out the submitters of jobs, with two reads for each batch of which nothing
// is known yet. Those of jobs that cannot be read stay unknown.
func (s *submitters) read(ctx context.Context, jobs []domain.JobID) {
	var g errgroup.Group
	g.SetLimit(scanParallel)
	for _, id := range jobs {
		if _, known := s.ofJob(id); known {
			continue
		}
		g.Go(func() error {
			if _, known := s.ofJob(id); known {
				return nil // read with another job of its batch
			}
			j := domain.Job{ID: id}
			if s.reader.jobConfiguration(ctx, &j) != nil {
				return nil //nolint:nilerr // its submitter stays unknown
			}
			var progress layout.Progress
			if s.reader.optional(ctx, s.reader.root.Progress(j.Configuration.BatchID), &progress) == nil {
				s.note(j.Configuration.BatchID, j.Configuration.Submitter, &progress.Listing)
			}
			return nil
		})
	}
	_ = g.Wait() // no error is returned
}

// with calls f with the submitter of a batch: now if it is known, else when the batch
// was read.
func (s *submitters) with(id domain.BatchID, f func(submitter string)) {
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
	s.reader.conn.Spawn(func() {
		submitter := s.readBatch(s.reader.conn.Context(), id)
		s.mu.Lock()
		waiting := s.asked[id]
		delete(s.asked, id)
		s.mu.Unlock()
		for _, f := range waiting {
			f(submitter)
		}
	})
}
