package app

import (
	"context"
	"errors"
	"maps"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Progress is how far a batch is: it always adds up.
type Progress struct {
	Batch      domain.BatchID          `json:"batch"`
	State      domain.BatchState       `json:"status"`
	Listed     int                     `json:"listed"` // jobs, 0 until the manifest was read
	Completed  int                     `json:"completed"`
	Failed     int                     `json:"failed"`
	Held       int                     `json:"held"`
	Deleted    int                     `json:"deleted"`
	InProgress int                     `json:"in_progress"`
	Jobs       map[domain.JobState]int `json:"-"` // where those that exist stand
	Files      FileProgress            `json:"files"`
	Reason     *domain.Reason          `json:"reason,omitempty"`
	Version    int64                   `json:"version"` // of the batch
	Seq        uint64                  `json:"seq"`     // the last event counted
}

// Ended counts the jobs that nothing moves any more by itself.
func (p Progress) Ended() int { return p.Completed + p.Failed + p.Held + p.Deleted }

// Watch follows the history of a batch from its beginning, calls seen after every
// event of it or of one of its jobs, and returns when the batch is at rest, not
// counting rests that were over when it began. from is a sequence in the log before its
// first event, 0 = not known.
func (a *App) Watch(ctx context.Context, id domain.BatchID, from uint64, seen func(Event, Progress)) (p Progress, err error) {
	defer explained(&err, "watch "+string(id))
	log, info, err := a.log(ctx)
	if err != nil {
		return p, err
	}
	if from == 0 {
		of := id.Aggregate()
		for r, err := range log.Read(ctx, eventstore.ReadOptions{Aggregate: &of}) {
			if from = r.Seq; err != nil {
				return p, err
			}
			break
		}
	}
	source, err := a.Open.Source(ctx, true)
	if err != nil {
		return p, err
	}
	w := newWatcher(id)
	for r, err := range source(ctx, max(from, 1)) {
		if _, ok := errors.AsType[*projections.Unreadable](err); ok {
			continue
		}
		if err != nil {
			return w.p, err
		}
		if r.BatchID == id {
			w.count(r)
			seen(eventOf(r), w.p)
		}
		if r.Seq >= info.Last && w.p.State.AtRest() && w.p.InProgress == 0 {
			return w.p, nil
		}
	}
	if ctx.Err() == nil {
		return w.p, errors.New("the log ended before the batch did")
	}
	return w.p, ctx.Err()
}

// LogEnd returns the sequence of the log's last event: what happens from now on is
// behind it.
func (a *App) LogEnd(ctx context.Context) (seq uint64, err error) {
	defer explained(&err, "look into the log")
	_, info, err := a.log(ctx)
	return info.Last, err
}

type watcher struct {
	p     Progress
	jobs  map[domain.JobID]domain.JobState
	sizes map[domain.FileHash]int64 // of files that are not downloaded
}

func newWatcher(id domain.BatchID) *watcher {
	return &watcher{p: Progress{Batch: id, Jobs: map[domain.JobState]int{}}, jobs: map[domain.JobID]domain.JobState{},
		sizes: map[domain.FileHash]int64{}}
}

// count takes an event in. Its cost does not depend on how many jobs there are.
func (w *watcher) count(r domain.Recorded) {
	w.p.Seq = r.Seq
	if m, ok := domain.MoveOfFile(r.Data); ok {
		w.countFile(r, m)
		return
	}
	if m, ok := domain.MoveOfBatch(r.Data); ok {
		w.p.State, w.p.Reason, w.p.Version = m.To, m.Reason, r.Version
		if l, ok := r.Data.(*domain.BatchListed); ok {
			w.p.Listed = l.Listing.Rows
		}
	}
	if m, ok := domain.MoveOfJob(r.Data); ok {
		id := domain.JobID(r.Aggregate.ID)
		w.p.Jobs = maps.Clone(w.p.Jobs) // the caller may still use the one before
		if from := w.jobs[id]; w.p.Jobs[from] > 1 {
			w.p.Jobs[from]--
		} else {
			delete(w.p.Jobs, from)
		}
		w.jobs[id] = m.To
		w.p.Jobs[m.To]++
	}
	w.p.Completed, w.p.Failed = w.p.Jobs[domain.JobCompleted], w.p.Jobs[domain.JobFailed]
	w.p.Held, w.p.Deleted = w.p.Jobs[domain.JobHeld], w.p.Jobs[domain.JobDeleted]
	w.p.InProgress = max(w.p.Listed, len(w.jobs)) - w.p.Ended()
}

// FileProgress is how far the files of a batch are: by number, and by bytes as
// far as sizes are known.
type FileProgress struct {
	Listed     int `json:"listed"`
	Downloaded int `json:"downloaded"`
	Processed  int `json:"processed"`
	GivenUp    int `json:"given_up"`
	Skipped    int `json:"skipped"`

	BytesListed     int64 `json:"bytes_listed"`
	BytesDownloaded int64 `json:"bytes_downloaded"`
	BytesProcessed  int64 `json:"bytes_processed"`

	// Begun is when the first download began, Last when a file moved last; zero
	// before.
	Begun domain.Time `json:"begun,omitzero"`
	Last  domain.Time `json:"last,omitzero"`
}

// Done counts the steps that are behind the files, of [FileProgress.Steps]: each is
// downloaded, then processed.
func (f FileProgress) Done() int {
	return min(f.Downloaded+f.Processed+2*f.GivenUp+2*f.Skipped, f.Steps())
}

// Steps counts the steps that there are.
func (f FileProgress) Steps() int { return 2 * f.Listed }

// countFile takes a file's event in. Its cost does not depend on how many files
// there are; only those that are not downloaded yet are remembered.
func (w *watcher) countFile(r domain.Recorded, m domain.FileMove) {
	f, hash := &w.p.Files, domain.FileHash(r.Aggregate.ID)
	f.Last = r.Time
	if m.To == domain.FileDownloading && f.Begun.IsZero() {
		f.Begun = r.Time
	}
	before, known := w.sizes[hash]
	if !known {
		before = m.Size // downloaded: it does not change any more
	}
	if m.From != domain.FileNone {
		f.add(m.From, before, -1)
	}
	f.add(m.To, m.Size, +1)
	if downloaded(m.To) {
		delete(w.sizes, hash)
	} else {
		w.sizes[hash] = m.Size
	}
}

// add counts one file in (+1) or out (-1).
func (f *FileProgress) add(state domain.FileState, size int64, n int) {
	f.Listed += n
	f.BytesListed += int64(n) * size
	switch state {
	case domain.FileIgnore, domain.FileAbandoned:
		f.GivenUp += n
	case domain.FileSkipped:
		f.Skipped += n
	case domain.FileProcessed:
		f.Processed += n
		f.BytesProcessed += int64(n) * size
	}
	if downloaded(state) && state != domain.FileSkipped && state != domain.FileAbandoned {
		f.Downloaded += n
		f.BytesDownloaded += int64(n) * size
	}
}

// downloaded reports whether a file in the state is, or was, stored.
func downloaded(s domain.FileState) bool {
	switch s {
	case domain.FileDownloaded, domain.FileSkipped, domain.FileReady, domain.FileProcessing,
		domain.FileProcessed, domain.FileProcessingFailed, domain.FileAbandoned:
		return true
	default:
		return false
	}
}
