package consistency

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// FoldAll gives what the log leaves of the live state: every batch, job and setting
// that is not gone. An event that cannot follow the one before it is an error.
func FoldAll(ctx context.Context, log eventstore.Log, progress func(Progress)) (h eventstore.History, err error) {
	info, err := log.Info(ctx)
	if err != nil {
		return h, fmt.Errorf("read the log: %w", err)
	}
	h.NextBatch, h.NextJob = 1, 1
	f := newFolded()
	for r, err := range log.Read(ctx, eventstore.ReadOptions{To: info.Last}) {
		if info.Last == 0 {
			break
		}
		if err != nil {
			return h, fmt.Errorf("read the log: %w", err)
		}
		if r.Aggregate.Kind != domain.KindFile {
			if err := f.apply(r); err != nil {
				return h, fmt.Errorf("place %d of the log: %w", r.Seq, err)
			}
		}
		h.Events, h.Epoch = h.Events+1, max(h.Epoch, r.Epoch)
		h.NextBatch = max(h.NextBatch, r.BatchID.Number()+1)
		if r.Aggregate.Kind == domain.KindJob {
			h.NextJob = max(h.NextJob, domain.JobID(r.Aggregate.ID).Number()+1)
		}
		if m, ok := domain.MoveOfFile(r.Data); ok { // its job's own events may have been lost with the outbox
			h.NextJob = max(h.NextJob, m.JobID.Number()+1)
		}
		if d, ok := r.Data.(*domain.BatchListed); ok { // reserved, if not all made
			h.NextJob = max(h.NextJob, d.Listing.FirstJID.Number()+int64(d.Listing.Rows))
		}
		if progress != nil && r.Seq%1000 == 0 {
			progress(Progress{"reading the log", int(r.Seq), int(info.Last)})
		}
	}
	left := map[domain.BatchID]bool{} // deleted batches that still have jobs
	for _, id := range slices.Sorted(maps.Keys(f.jobs)) {
		j := f.jobs[id]
		b := f.batches[j.Configuration.BatchID]
		if j.State == domain.JobDeleted || b.Cleaned() {
			continue // a cleaned batch's jobs go without events
		}
		left[b.ID] = true
		h.Jobs = append(h.Jobs, j)
	}
	for _, id := range slices.Sorted(maps.Keys(f.batches)) {
		if b := f.batches[id]; b.State != domain.BatchDeleted || left[id] {
			b.NextRow = f.made[id]
			h.Batches = append(h.Batches, b)
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(f.settings), func(a, b domain.Aggregate) int { return cmp.Compare(a.ID, b.ID) }) {
		h.Settings = append(h.Settings, f.settings[a])
	}
	return h, nil
}
