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

// keyedQuery takes a query that was requested under an idempotency key. The first query of a
// key counts.
func (h *History) keyedQuery(id domain.QueryID, d *domain.QueryReceived) {
	key := ofKey{d.Request.Submitter, d.KeySHA256}
	if had, known := h.queries[key]; d.KeySHA256 == "" || known && had.Query <= id {
		return
	}
	asks, err := record.AskedSHA256(d.Request)
	if err == nil { // always: it has been in JSON
		h.queries[key] = record.QueryCommand{Submitter: d.Request.Submitter, Key: record.KeyDigest(d.KeySHA256), InputSHA256: asks, Query: id}
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
			c.key(want.Batch.Aggregate(), "command", keptKey{want.Submitter, want.Key}, keptKey{got.Submitter, got.Key},
				func(ctx context.Context) error { return c.Records.RestoreCommand(ctx, want) })
		}
	}
	return c.keysOfQueries(ctx, h)
}

// keysOfQueries is keys of queries.
func (c *checker) keysOfQueries(ctx context.Context, h *History) error {
	all := slices.SortedFunc(maps.Values(h.queries), func(a, b record.QueryCommand) int { return cmp.Compare(a.Query, b.Query) })
	for page := range slices.Chunk(all, versionsAPage) {
		queries := make([]domain.QueryID, len(page))
		for i, want := range page {
			queries[i] = want.Query
		}
		kept, err := c.Records.QueryCommandsOf(ctx, queries)
		if err != nil {
			return err
		}
		for _, want := range page {
			got := kept[want.Query]
			c.key(want.Query.Aggregate(), "query_command", keptKey{want.Submitter, want.Key}, keptKey{got.Submitter, got.Key},
				func(ctx context.Context) error { return c.Records.RestoreQueryCommand(ctx, want) })
		}
	}
	return nil
}

// keptKey is a key as the records have it, or would; empty = they do not.
type keptKey struct{ submitter, key string }

// key compares the key of a batch or query with that in a table of the records.
func (c *checker) key(of domain.Aggregate, table string, want, got keptKey, restore func(context.Context) error) {
	if got == want || got.submitter == want.submitter && record.KeyDigest(record.KeySHA256(got.key)) == want.key {
		return
	}
	text := "nothing"
	if got != (keptKey{}) {
		text = "another key"
	}
	c.found(consistency.NewFinding(consistency.KeyForgotten, of.String(), table, want.key+" of "+want.submitter, text, restore))
}
