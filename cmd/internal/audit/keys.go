package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// ofKey names an idempotency key.
type ofKey struct{ submitter, digest string }

// keyed takes a deposit that was requested under an idempotency key. The first batch of a
// key counts.
func (h *History) keyed(id domain.BatchID, sub domain.Submission) {
	key := ofKey{sub.Submitter, sub.KeySHA256}
	if had, known := h.keys[key]; sub.KeySHA256 == "" || known && had.Batch <= id {
		return
	}
	input, err := record.InputSHA256(sub)
	if err == nil { // always: it has been in JSON
		h.keys[key] = record.Command{Submitter: sub.Submitter, Key: record.KeyDigest(sub.KeySHA256), InputSHA256: input, Batch: id}
	}
}

// keys compares the idempotency keys of the history with those in the records: one that
// is forgotten would make another batch.
func (c *checker) keys(ctx context.Context, h *History) error {
	all := slices.SortedFunc(maps.Values(h.keys), func(a, b record.Command) int { return cmp.Compare(a.Batch, b.Batch) })
	for page := range slices.Chunk(all, versionsAPage) {
		batches := make([]domain.BatchID, len(page))
		for i, want := range page {
			batches[i] = want.Batch
		}
		kept, err := c.Records.CommandsOf(ctx, batches)
		if err != nil {
			return err
		}
		for _, want := range page {
			got := kept[want.Batch]
			if got.Submitter == want.Submitter && (got.Key == want.Key || record.KeyDigest(record.KeySHA256(got.Key)) == want.Key) {
				continue
			}
			text := "nothing"
			if got.Batch != "" {
				text = "another key"
			}
			c.found(consistency.NewFinding(consistency.KeyForgotten, want.Batch.Aggregate().String(), "command", want.Key+" of "+want.Submitter, text,
				func(ctx context.Context) error { return c.Records.RestoreCommand(ctx, want) }))
		}
	}
	return nil
}
