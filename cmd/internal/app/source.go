package app

import (
	"context"
	"errors"
	"iter"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Source gives the log as the projections read it: an event that cannot be read
// is told, and reading goes on behind it. With follow it waits for more at the
// end.
func Source(log eventstore.Log, follow bool) projections.Source {
	return func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for next := from; next > 0; {
				next = readOn(ctx, log, eventstore.ReadOptions{From: next, Follow: follow}, yield)
			}
		}
	}
}

// Skips reports whether an error of a [Source] tells of one event that cannot be
// read: who only wants the others goes on.
func Skips(err error) bool {
	var one *projections.Unreadable
	return errors.As(err, &one)
}

// readOn hands events out up to one that cannot be read, and gives the place
// behind that one; 0 = there is no more to read.
func readOn(ctx context.Context, log eventstore.Log, o eventstore.ReadOptions, yield func(domain.Recorded, error) bool) uint64 {
	for r, err := range log.Read(ctx, o) {
		var broken *eventstore.DecodeError
		if errors.As(err, &broken) && broken.Envelope.Seq > 0 && broken.Envelope.Aggregate.ID != "" {
			if !yield(broken.Envelope, &projections.Unreadable{Data: broken.Data, Err: err}) {
				return 0
			}
			return broken.Envelope.Seq + 1
		}
		if !yield(r, err) || err != nil {
			return 0
		}
	}
	return 0
}
