package consistency

import (
	"context"
	"fmt"
	"iter"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Unsent iterates over the events in the outbox that no mark covers, those of an aggregate
// in their order. It ends after the first error.
func Unsent(ctx context.Context, live State) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		for shard := range live.Shards() {
			mark, err := live.Mark(ctx, shard)
			for after := mark.Offset; err == nil; {
				var items []eventstore.Item
				if items, err = live.Read(ctx, shard, after, rowsAPage); err != nil || len(items) == 0 {
					break
				}
				after = items[len(items)-1].Offset
				for _, it := range items {
					for _, e := range it.Events {
						if !yield(e, nil) {
							return
						}
					}
				}
			}
			if err != nil {
				yield(domain.Recorded{}, fmt.Errorf("read the outbox: %w", err))
				return
			}
		}
	}
}

// FirstEvent returns the first event of an aggregate, the zero value if it has none. The
// outbox is read before the log, because events only move from the one to the other.
func FirstEvent(ctx context.Context, live State, log eventstore.Log, of domain.Aggregate) (first domain.Recorded, err error) {
	for e, err := range Unsent(ctx, live) {
		if err != nil || e.Aggregate == of && e.Version == 1 {
			return e, err
		}
	}
	for e, err := range log.Read(ctx, eventstore.ReadOptions{Aggregate: &of}) {
		return e, err
	}
	return first, nil
}

// withUnsent returns the history of an aggregate with its events that wait in the outbox.
func (c *checker) withUnsent(ctx context.Context, a domain.Aggregate) (all []domain.Recorded, err error) {
	var waiting []domain.Recorded
	for e, err := range Unsent(ctx, c.Live) {
		if err != nil {
			return nil, err
		}
		if e.Aggregate == a {
			waiting = append(waiting, e)
		}
	}
	if all, err = c.history(ctx, a); err != nil {
		return nil, err
	}
	for _, e := range waiting {
		if e.Version > int64(len(all)) { // else it was sent meanwhile
			all = append(all, e)
		}
	}
	return all, nil
}
